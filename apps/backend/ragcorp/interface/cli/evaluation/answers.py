"""Measures answers for `ragcorp eval --ask`: documents are ingested, questions asked, answers scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ragcorp.application.evaluation.answers import JudgedAnswer
from ragcorp.application.evaluation.profile import parse_profile
from ragcorp.application.upkeep.task_progress import Progress
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.evaluation.answers import AnswerShares, AnswerVerdict, shares, shares_by_kind
from ragcorp.interface.cli.console.calls import Call
from ragcorp.interface.cli.console.output import plain
from ragcorp.interface.cli.console.progress import Report, progress
from ragcorp.interface.cli.console.services import EvaluationOptions, Session

DOCUMENTS = "documents"
PROFILE = "linear"
PASSAGES = 10
"""As `ragcorp ask` and POST /ask have it by default."""
DIGITS = 6
SHARES = ("right", "hedged", "wrong_value", "cited", "evidence", "abstained_rightly", "abstained_wrongly")


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The options of `ragcorp eval --ask`. CHUNK_MAX_TOKENS bounds the chunks of the documents."""

    profile: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            metavar="NAME[:KEY=NUMBER,...]",
            help="dense, sparse, hybrid, linear [these four] or code, over a tree also grep, vectors, files [dense, "
            "grep, files]; may be given again. Overrides: k, window, or the weight of a list, as in hybrid:k=20 or "
            "linear:full_text=0.1.",
            show_default=False,
        ),
    ] = None
    every: Annotated[int, typer.Option("--every", metavar="N", help="Take each n-th query only.")] = 1
    language: Annotated[
        str | None, typer.Option("--language", help="ISO 639-1 code of the set [DEFAULT_LANGUAGE].")
    ] = None
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            "--cache-dir",
            help="Keeps embeddings between evaluations [~/.cache/ragcorp/embeddings].",
            show_default=False,
        ),
    ] = None


async def evaluate_answers(call: Call, folder: Path, options: AskOptions) -> None:
    """Ask the questions of the set in ``folder`` and write the shares.

    Raises InvalidInputError, NotFoundError, EmbedderUnavailableError, and what opening an evaluation raises.
    """
    profiles = options.profile or [PROFILE]
    if len(profiles) > 1:
        raise InvalidInputError("--ask takes one profile.", field="--profile", remedy="Run it once a profile.")
    profile = parse_profile(profiles[0])
    questions = call.services.evaluation_files().read_questions(folder)[:: options.every]
    opening = EvaluationOptions(cache_dir=options.cache_dir, language=options.language, chunk_tokens=None)
    async with call.services.evaluation(call.target, opening) as opened:
        showing = partial(_showing, call)
        await _ingest(opened.session, folder / DOCUMENTS, showing)
        if not opened.session.makes_vectors:
            call.output.note(
                "No embedding model is configured (EMBEDDING_PROVIDER=none): text alone is searched.", style="yellow"
            )
        await opened.settle.settle(principal=opened.session.principal, progress=showing)
        answers = await opened.answers.evaluate(
            questions,
            folder / DOCUMENTS,
            request=profile.request("", limit=PASSAGES),
            principal=opened.session.principal,
            progress=showing,
        )
    call.output.result(answers_document(folder.name, profile.name, answers), partial(_print_answers, answers=answers))


def _showing(call: Call, task: str, unit: str) -> AbstractContextManager[Report]:
    return progress(call.output.notes, task, unit=unit)


async def _ingest(session: Session, documents: Path, showing: Progress) -> None:
    with showing("Ingesting", "documents") as report:
        totals = await session.ingest_folder.ingest(documents, principal=session.principal, on_progress=report)
    for failure in totals.failures:
        raise InvalidInputError(
            f"A document of the set cannot be stored: {failure.error.message}",
            field=failure.external_id,
            remedy=failure.error.remedy,
        )


def answers_document(name: str, profile: str, answers: Sequence[JudgedAnswer]) -> dict[str, object]:
    """Return the document of --json: the shares over all questions and per kind, and the answers."""
    verdicts = [answer.verdict for answer in answers]
    return {
        **_shares(shares(verdicts)),
        "kinds": {kind: _shares(part) for kind, part in shares_by_kind(verdicts).items()},
        "set": name,
        "profile": profile,
        "answers": [_answer(answer) for answer in answers],
    }


def _shares(part: AnswerShares) -> dict[str, object]:
    return {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in asdict(part).items()}


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
    verdicts: list[AnswerVerdict] = [answer.verdict for answer in answers]
    table = Table("kind", "questions", *(share.replace("_", " ") for share in SHARES))
    for kind, part in {**shares_by_kind(verdicts), "all": shares(verdicts)}.items():
        table.add_row(plain(kind), str(part.asked), *(_percent(getattr(part, share)) for share in SHARES))
    console.print(table)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
