"""The options of commands on items, and their values."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

import typer

from ragcorp.application.memory.chat_turns import moment
from ragcorp.application.validation.item_changes import KEEP, AttributeChange, Keep
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
InSession = Annotated[str | None, typer.Option("--session", help="The conversation that it belongs to.")]
Speaker = Annotated[str | None, typer.Option("--speaker", help="Who said it.")]
Entity = Annotated[
    list[str] | None,
    typer.Option("--entity", metavar="NAME", help="Whom or what it names; may be given again.", show_default=False),
]
Title = Annotated[str | None, typer.Option("--title", help="Its title.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Entries of one page.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="The next page: as the last one named it.")]
NoEmbed = Annotated[
    bool, typer.Option("--no-embed", help="Leave vectors to a running service, or to `ragcorp embed --pending`.")
]


Given = TypeVar("Given")


def text_of(argument: str) -> str:
    """Return the argument, or the text of stdin for ``-``. Raises InvalidInputError."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError("stdin is not UTF-8.", field="TEXT", remedy="Send the text in UTF-8.") from None


def time_of(option: str | None) -> datetime | None:
    """Return the moment of ``--occurred-at``. Raises InvalidInputError."""
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


@dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """The language of a text and its readers. Raises InvalidInputError for unknown names."""

    language: Annotated[str | None, typer.Option("--language", help="ISO 639-1 code [DEFAULT_LANGUAGE].")] = None
    sensitivity: Annotated[
        str | None, typer.Option("--sensitivity", help="public, normal, confidential or restricted.")
    ] = None
    scope: Annotated[str | None, typer.Option("--scope", help="Who may read it: workspace, group or private.")] = None
    owner: Annotated[str | None, typer.Option("--owner", help="The group that it belongs to.")] = None

    def __post_init__(self) -> None:
        Sensitivity.parse(self.sensitivity or "normal")
        _scope(self.scope or VisibilityScope.WORKSPACE)

    def attributes(self, *, default_language: str, **others: Any) -> DocumentAttributes:
        """Return the attributes of the options and ``others``; an option that is not given has its default."""
        return DocumentAttributes(
            language=self.language or default_language,
            sensitivity=Sensitivity.parse(self.sensitivity or "normal"),
            visibility_scope=_scope(self.scope or VisibilityScope.WORKSPACE),
            owner=self.owner or "",
            **others,
        )


@dataclass(frozen=True, kw_only=True)
class AttributeOptions(AccessOptions):
    """What entities, facts, items and documents have in common."""

    metadata: Annotated[
        list[str] | None,
        typer.Option("--metadata", metavar="KEY=VALUE", help="Kept with it; may be given again.", show_default=False),
    ] = None

    def attributes(self, *, default_language: str, **others: Any) -> DocumentAttributes:
        return super().attributes(default_language=default_language, metadata=_metadata(self.metadata or []), **others)


@dataclass(frozen=True, kw_only=True)
class ItemOptions(AttributeOptions):
    """What items and documents have in common."""

    kind: Annotated[
        str | None,
        typer.Option(
            "--type", "--kind", help="What it is; of memory: fact, preference, person, place or relationship."
        ),
    ] = None
    occurred_at: Annotated[
        str | None,
        typer.Option(
            "--occurred-at", "--timestamp", help="When: ISO 8601 (UTC without a zone), or seconds since 1970."
        ),
    ] = None

    def change(self, **others: Any) -> AttributeChange:
        """Return the change of the given options and ``others``. Raises InvalidInputError."""
        return AttributeChange(
            artifact_type=given(self.kind),
            language=given(self.language),
            sensitivity=KEEP if self.sensitivity is None else Sensitivity.parse(self.sensitivity),
            visibility_scope=KEEP if self.scope is None else _scope(self.scope),
            owner=given(self.owner),
            occurred_at=KEEP if self.occurred_at is None else time_of(self.occurred_at),
            metadata=KEEP if self.metadata is None else _metadata(self.metadata),
            **others,
        )


def given(value: Given | None) -> Given | Keep:
    return KEEP if value is None else value


def _scope(option: str) -> VisibilityScope:
    try:
        return VisibilityScope(option)
    except ValueError:
        raise InvalidInputError(
            "--scope is not a known one.", field="--scope", limit=", ".join(VisibilityScope), remedy="Use one of these."
        ) from None


def _metadata(option: list[str]) -> dict[str, object]:
    return parse_pairs(option, option="--metadata")
