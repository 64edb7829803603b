"""Use case: store an evaluation set's passages."""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from ragcorp.application.upkeep.task_progress import Progress, no_progress
from ragcorp.application.validation.attribute_checks import MAX_TITLE
from ragcorp.domain.documents import DocumentAttributes, SourceFile
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestFailure, IngestRequest
from ragcorp.domain.ports.use_cases import BatchIngestion
from ragcorp.domain.principal import Principal
from ragcorp.evaluation.sets import EvaluationSet, Passage

BATCH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEvaluationSet:
    """Stores each passage as a document under its id: a file of a tree, else plain text."""

    ingest: BatchIngestion

    async def load(
        self, evaluation_set: EvaluationSet, *, principal: Principal, language: str, progress: Progress = no_progress
    ) -> None:
        """Store all passages. Raises InvalidInputError for one that cannot be stored."""
        attributes = DocumentAttributes(language=language)
        passages = evaluation_set.passages
        is_tree = evaluation_set.tree is not None
        with progress("Ingesting the corpus", "passages") as report:
            for start in range(0, len(passages), BATCH):
                requests = [
                    _request(passage, attributes, is_file=is_tree) for passage in passages[start : start + BATCH]
                ]
                outcomes = await self.ingest.ingest_many(requests, principal=principal)
                for number, outcome in enumerate(outcomes, start=start + 1):
                    if isinstance(outcome, IngestFailure):
                        raise InvalidInputError(
                            f"Passage {number} of the corpus cannot be stored: {outcome.error.message}",
                            field=f"files/{outcome.external_id}" if is_tree else "corpus.jsonl",
                            remedy=outcome.error.remedy,
                        )
                report(start + len(outcomes), len(passages))


def _request(passage: Passage, attributes: DocumentAttributes, *, is_file: bool) -> IngestRequest:
    """Return the request; a file's name determines its kind, plain text without a parser."""
    filename = PurePosixPath(passage.id).name if is_file else "passage"
    return IngestRequest(
        external_id=passage.id,
        file=SourceFile.of_text(passage.text, media_type="text/plain", filename=filename),
        attributes=attributes if is_file else replace(attributes, title=passage.title[:MAX_TITLE]),
    )
