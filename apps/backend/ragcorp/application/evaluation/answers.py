"""Use case: ask the questions of an evaluation set and score the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from ragcorp.application.upkeep.task_progress import Progress, no_progress
from ragcorp.domain.answers import Answer, Citation, final_answer
from ragcorp.domain.ports.folders import FolderFiles
from ragcorp.domain.ports.text import DocumentParser
from ragcorp.domain.ports.use_cases import QuestionAnswering
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.evaluation.answers import AnswerVerdict, AskQuestion, CitedSpan, GivenAnswer, judged


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    answer: Answer
    verdict: AnswerVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateAnswers:
    """Asks questions about documents in the principal's workspace; cited spans are read from their parsed text."""

    answers: QuestionAnswering
    files: FolderFiles
    parser: DocumentParser

    async def evaluate(
        self,
        questions: Sequence[AskQuestion],
        documents: Path,
        *,
        request: SearchRequest,
        principal: Principal,
        progress: Progress = no_progress,
    ) -> list[JudgedAnswer]:
        """Return the judged answers in the order of the questions. Raises NotFoundError for a missing folder."""
        lines = await anyio.to_thread.run_sync(self._lines, documents)
        judged_answers: list[JudgedAnswer] = []
        with progress("Asking", "questions") as report:
            for done, question in enumerate(questions, start=1):
                answer = await final_answer(
                    self.answers.stream(replace(request, query=question.text), principal=principal)
                )
                given = GivenAnswer(
                    text=answer.text,
                    abstained=answer.abstained,
                    citations=tuple(_span(citation, lines) for citation in answer.citations),
                )
                judged_answers.append(JudgedAnswer(answer=answer, verdict=judged(question, given)))
                report(done, len(questions))
        return judged_answers

    def _lines(self, documents: Path) -> dict[str, list[str]]:
        files = {entry.relative: self.files.read(entry) for entry in self.files.find(documents)}
        return {name: self.parser.parse(file).text.split("\n") for name, file in files.items()}


def _span(citation: Citation, lines: Mapping[str, Sequence[str]]) -> CitedSpan:
    text = lines.get(citation.external_id, ())[citation.line_start - 1 : citation.line_end]
    return CitedSpan(
        document=citation.external_id, lines=citation.line_end - citation.line_start + 1, text="\n".join(text)
    )
