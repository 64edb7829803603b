"""The options of commands on items, and what they say, as values."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated

import typer

from ragcorp.application.memory.chat_turns import moment
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.cli.console.arguments import parse_pairs

Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from stdin.", show_default=False)]
ItemId = Annotated[str, typer.Argument(metavar="EXTERNAL_ID", help="The item's own name.", show_default=False)]
NewText = Annotated[str | None, typer.Option("--text", help="Another text; - reads it from stdin.", show_default=False)]
ExternalId = Annotated[
    str | None,
    typer.Option("--external-id", help="The item's own name; left out, one is made of the content."),
]
Kind = Annotated[
    str | None,
    typer.Option("--type", "--kind", help="What it is; of memory: fact, preference, person, place or relationship."),
]
Language = Annotated[str | None, typer.Option("--language", help="ISO 639-1 code [DEFAULT_LANGUAGE].")]
Level = Annotated[str | None, typer.Option("--sensitivity", help="public, normal, confidential or restricted.")]
Scope = Annotated[str | None, typer.Option("--scope", help="Who may read it: workspace, group or private.")]
Owner = Annotated[str | None, typer.Option("--owner", help="The group that it belongs to.")]
When = Annotated[
    str | None,
    typer.Option("--occurred-at", "--timestamp", help="When: ISO 8601 (UTC without a zone), or seconds since 1970."),
]
InSession = Annotated[str | None, typer.Option("--session", help="The conversation that it belongs to.")]
Speaker = Annotated[str | None, typer.Option("--speaker", help="Who said it.")]
Entity = Annotated[
    list[str] | None,
    typer.Option("--entity", metavar="NAME", help="Whom or what it names; may be given again.", show_default=False),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Kept with it; may be given again.", show_default=False),
]
Title = Annotated[str | None, typer.Option("--title", help="Its title.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Entries of one page.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="The next page: as the last one named it.")]
NoEmbed = Annotated[
    bool, typer.Option("--no-embed", help="Leave vectors to a running service, or to `ragcorp embed --pending`.")
]


def text_of(argument: str) -> str:
    """Return the argument, or what stands on stdin for ``-``. Raises InvalidInputError."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError("stdin is not UTF-8.", field="TEXT", remedy="Send the text in UTF-8.") from None


def time_of(option: str | None) -> datetime | None:
    """Raises InvalidInputError."""
    if option is None:
        return None
    try:
        return moment(option)
    except (ValueError, OverflowError, OSError):
        raise InvalidInputError(
            "--occurred-at is no time.",
            field="--occurred-at",
            remedy="Write it as 2026-03-31T17:05:00Z, or as seconds since 1970.",
        ) from None


def scope_of(option: str) -> VisibilityScope:
    """Raises InvalidInputError."""
    try:
        return VisibilityScope(option)
    except ValueError:
        raise InvalidInputError(
            "--scope is not a known one.", field="--scope", limit=", ".join(VisibilityScope), remedy="Use one of these."
        ) from None


def level_of(option: str) -> Sensitivity:
    """Raises InvalidInputError."""
    return Sensitivity.parse(option)


def metadata_of(option: list[str]) -> dict[str, object]:
    """Raises InvalidInputError."""
    return parse_pairs(option, option="--metadata")


def attributes_of(
    *,
    kind: str,
    language: str,
    sensitivity: str | None,
    scope: str | None,
    owner: str | None,
    metadata: list[str] | None,
    title: str | None = None,
    occurred_at: datetime | None = None,
) -> DocumentAttributes:
    """Return what the options describe; what was not given is the default. Raises InvalidInputError."""
    return DocumentAttributes(
        title=title or "",
        language=language,
        artifact_type=kind,
        sensitivity=Sensitivity.NORMAL if sensitivity is None else level_of(sensitivity),
        visibility_scope=VisibilityScope.WORKSPACE if scope is None else scope_of(scope),
        owner=owner or "",
        occurred_at=occurred_at,
        metadata=metadata_of(metadata or []),
    )
