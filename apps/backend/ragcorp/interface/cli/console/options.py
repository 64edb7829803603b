"""Options that several commands share, and groups of them. A group's fields become options of the command."""

import sys
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, TypeVar

from typer import Argument, Option

from ragcorp.application.memory.chat_turns import moment
from ragcorp.application.validation.item_changes import KEEP, AttributeChange, Keep
from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Sensitivity
from ragcorp.interface.cli.console.arguments import filter_pairs, parse_pairs
from ragcorp.interface.request_values import choice, parse_selection

Value = TypeVar("Value")


def time_of(option: str) -> datetime:
    """Raises InvalidInputError."""
    try:
        return moment(option)
    except (ValueError, OverflowError, OSError):
        raise InvalidInputError(
            "--occurred-at is no time.",
            field="--occurred-at",
            remedy="Write it as 2026-03-31T17:05:00Z, or as seconds since 1970.",
        ) from None


def text_of(argument: str) -> str:
    """Return the argument, or the content of stdin for ``-``. Raises InvalidInputError."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError("stdin is not UTF-8.", field="TEXT", remedy="Send the text in UTF-8.") from None


def or_keep(value: Value | None) -> Value | Keep:
    """Return an option's value, KEEP if it is not given."""
    return KEEP if value is None else value


argument = partial(Argument, show_default=False)
option = partial(Option, show_default=False)
_repeated = partial(option, metavar="KEY=VALUE")

Text = Annotated[
    str, Argument(metavar="TEXT", parser=text_of, help="The text; - reads it from stdin.", show_default=False)
]
NewText = Annotated[
    str | None, option("--text", parser=text_of, metavar="TEXT", help="Another text; - reads it from stdin.")
]
ItemId = Annotated[str, Argument(metavar="EXTERNAL_ID", help="The item's own name.", show_default=False)]
OptionalId = Annotated[str | None, Argument(metavar="[EXTERNAL_ID]", help="One of them.", show_default=False)]
ExternalId = Annotated[
    str | None, option("--external-id", help="The item's own name; left out, one is made of the content.")
]
Lines = Annotated[str, Argument(metavar="FILE", help="JSON lines; - reads stdin.", show_default=False)]
Language = Annotated[str | None, option("--language", help="ISO 639-1 code [DEFAULT_LANGUAGE].")]
Metadata = Annotated[list[str] | None, _repeated("--metadata", help="Kept with it; may be given again.")]
Filter = Annotated[
    list[str] | None,
    _repeated(
        "--filter",
        help="Field or metadata key; may be given again. The value may be JSON: a list means any of them, an object "
        'has operators: year={"$gte": 2025}.',
    ),
]
Limit = Annotated[int, Option("--limit", "-n", help="Entries of one page.")]
Cursor = Annotated[str | None, option("--cursor", help="The next page: as the last one named it.")]
NoEmbed = Annotated[
    bool,
    Option(
        "--no-embed",
        help="Leave the vectors to a running service, or to `ragcorp embed --pending`; text is found at once.",
    ),
]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Profile = Annotated[
    str | None,
    option(
        "--profile",
        help="dense, sparse, hybrid, linear, collections, memory, everything, files, grep or code: in place of --mode "
        "and --method.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    prefix: Annotated[str, option("--prefix", help="Those whose external_id starts so.")] = ""
    filters: Filter = None

    @property
    def conditions(self) -> Filters:
        """Raises InvalidInputError."""
        return parse_selection(filter_pairs(self.filters))


@dataclass(frozen=True, kw_only=True)
class PageOptions(SelectionOptions):
    limit: Limit = 50
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class ReaderOptions:
    language: Language = None
    sensitivity: Annotated[
        Sensitivity | None,
        option(
            "--sensitivity",
            parser=Sensitivity.parse,
            metavar="LEVEL",
            help="public, normal, confidential or restricted.",
        ),
    ] = None
    scope: Annotated[
        VisibilityScope | None,
        option(
            "--scope",
            parser=lambda scope: choice(VisibilityScope, scope, field="--scope"),
            metavar="SCOPE",
            help="Who may read it: workspace, group or private.",
        ),
    ] = None
    owner: Annotated[str | None, option("--owner", help="The group that it belongs to.")] = None

    def attributes(self, *, kind: str, default_language: str) -> DocumentAttributes:
        """Return what the options describe, with defaults for the rest."""
        return DocumentAttributes(
            language=self.language or default_language,
            artifact_type=kind,
            sensitivity=Sensitivity.NORMAL if self.sensitivity is None else self.sensitivity,
            visibility_scope=self.scope or VisibilityScope.WORKSPACE,
            owner=self.owner or "",
        )


@dataclass(frozen=True, kw_only=True)
class DescriptionOptions(ReaderOptions):
    metadata: Metadata = None

    def attributes(self, *, kind: str, default_language: str) -> DocumentAttributes:
        """Raises InvalidInputError."""
        described = super().attributes(kind=kind, default_language=default_language)
        return replace(described, metadata=parse_pairs(self.metadata or [], option="--metadata"))


@dataclass(frozen=True, kw_only=True)
class ItemOptions(DescriptionOptions):
    kind: Annotated[
        str | None,
        option("--type", "--kind", help="What it is; of memory: fact, preference, person, place or relationship."),
    ] = None
    occurred_at: Annotated[
        datetime | None,
        option(
            "--occurred-at",
            "--timestamp",
            parser=time_of,
            metavar="TIME",
            help="When: ISO 8601 (UTC without a zone), or seconds since 1970.",
        ),
    ] = None

    def attributes(self, *, kind: str, default_language: str) -> DocumentAttributes:
        """Return the attributes; ``kind`` counts where no option names it. Raises InvalidInputError."""
        described = super().attributes(kind=self.kind or kind, default_language=default_language)
        return replace(described, occurred_at=self.occurred_at)

    def change(self) -> AttributeChange:
        """Return the change that the options name. Raises InvalidInputError."""
        return AttributeChange(
            artifact_type=or_keep(self.kind),
            language=or_keep(self.language),
            sensitivity=or_keep(self.sensitivity),
            visibility_scope=or_keep(self.scope),
            owner=or_keep(self.owner),
            occurred_at=or_keep(self.occurred_at),
            metadata=KEEP if self.metadata is None else parse_pairs(self.metadata, option="--metadata"),
        )
