"""`ragcorp eval --ask`: ingests the documents, asks the questions and scores the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console

from ragcorp.application.evaluation.answers import JudgedAnswer
from ragcorp.application.evaluation.profile import parse_profile
from ragcorp.application.upkeep.task_progress import Progress
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.evaluation.answers import AnswerShares, AnswerVerdict, shares, shares_by_kind
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import print_table
from ragcorp.interface.cli.console.services import EvaluationOptions, Session
from ragcorp.interface.cli.evaluation.options import EvaluateOptions

DOCUMENTS = "documents"
PROFILE = "linear"
PASSAGES = 10
DIGITS = 6
SHARES = ("right", "hedged", "wrong_value", "cited", "evidence", "abstained_rightly", "abstained_wrongly")


async def evaluate_answers(call: Call, folder: Path, options: EvaluateOptions) -> None:
    """Ask the questions of the set in ``folder`` and write the shares.

    Raises InvalidInputError, NotFoundError, EmbedderUnavailableError, and what opening an evaluation raises.
    """
    if len(options.profiles) > 1:
        raise InvalidInputError("--ask takes one profile.", field="--profile", remedy="Run it once a profile.")
    profile = parse_profile(*(options.profiles or (PROFILE,)))
    questions = call.services.evaluation_files().read_questions(folder)[:: options.every]
    opening = EvaluationOptions(cache_dir=options.cache_dir, language=options.language, chunk_tokens=None)
    async with call.services.evaluation(call.target, opening) as opened:
        await _ingest(opened.session, folder / DOCUMENTS, call.progress)
        if not opened.session.makes_vectors:
            call.output.note(
                "No embedding model is configured (EMBEDDING_PROVIDER=none): text alone is searched.", style="yellow"
            )
        await opened.settle.settle(principal=opened.session.principal, progress=call.progress)
        answers = await opened.answers.evaluate(
            questions,
            folder / DOCUMENTS,
            request=profile.request("", limit=PASSAGES),
            principal=opened.session.principal,
            progress=call.progress,
        )
    call.output.result(answers_document(folder.name, profile.name, answers), partial(_print_answers, answers=answers))


async def _ingest(session: Session, documents: Path, progress: Progress) -> None:
    with progress("Ingesting", "documents") as report:
        totals = await session.use_cases.ingest_folder.ingest(
            documents, principal=session.principal, on_progress=report
        )
    for failure in totals.failures:
        raise InvalidInputError(
            f"A document of the set cannot be stored: {failure.error.message}",
            field=failure.external_id,
            remedy=failure.error.remedy,
        )


def answers_document(name: str, profile: str, answers: Sequence[JudgedAnswer]) -> dict[str, object]:
    verdicts = [judged.verdict for judged in answers]
    return {
        **_shares(shares(verdicts)),
        "kinds": {kind: _shares(scores) for kind, scores in shares_by_kind(verdicts).items()},
        "set": name,
        "profile": profile,
        "answers": [_answer(judged) for judged in answers],
    }


def _shares(scores: AnswerShares) -> dict[str, object]:
    return {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in asdict(scores).items()}


def _answer(judged: JudgedAnswer) -> Mapping[str, object]:
    verdict = asdict(judged.verdict) | {"question": judged.verdict.question.id}
    return verdict | {
        "text": judged.answer.text,
        "citations": [
            {"external_id": c.external_id, "line_start": c.line_start, "line_end": c.line_end, "quote": c.quote}
            for c in judged.answer.citations
        ],
    }


def _print_answers(console: Console, *, answers: Sequence[JudgedAnswer]) -> None:
    verdicts: list[AnswerVerdict] = [judged.verdict for judged in answers]
    rows = [
        (kind, scores.asked, *(_percent(getattr(scores, share)) for share in SHARES))
        for kind, scores in {**shares_by_kind(verdicts), "all": shares(verdicts)}.items()
    ]
    print_table(console, ("kind", "questions", *(share.replace("_", " ") for share in SHARES)), rows)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
