"""The arguments and options of `ragcorp graph`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.moments import written_moment

GraphId = Annotated[str, typer.Argument(metavar="EXTERNAL_ID", show_default=False)]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="Name of an entity.", show_default=False)]
Predicate = Annotated[str, typer.Argument(metavar="PREDICATE", help="How it stands to the other.", show_default=False)]
Object = Annotated[str, typer.Argument(metavar="OBJECT", help="Name of an entity.", show_default=False)]
ExternalId = Annotated[
    str | None,
    typer.Option("--external-id", help="Its own name; left out, one follows from the content.", show_default=False),
]
Kind = Annotated[str, typer.Option("--kind", help="What it is: person, place, organization, ...")]
Alias = Annotated[
    list[str] | None,
    typer.Option("--alias", metavar="NAME", help="Another name; may be given again.", show_default=False),
]
Description = Annotated[str, typer.Option("--description", help="A sentence on it.", show_default=False)]
OfName = Annotated[
    str | None,
    typer.Option("--name", help="Those of this name or alias; accents and case do not count.", show_default=False),
]
OfEntity = Annotated[
    str | None, typer.Option("--entity", help="Those on the entity of this external_id.", show_default=False)
]
InDocument = Annotated[
    str | None,
    typer.Option("--document", help="external_id of a document; left out: the whole workspace.", show_default=False),
]
MostChunks = Annotated[
    int | None, typer.Option("--limit", "-n", help="At most so many passages; left out: all.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class TruthOptions:
    """The weight, validity and source of a fact."""

    weight: Annotated[float, typer.Option("--weight", help="How much it counts: 0 to 1.")] = 1.0
    valid_from: Annotated[str | None, typer.Option("--from", help="True since: ISO 8601.", show_default=False)] = None
    valid_to: Annotated[str | None, typer.Option("--to", help="True until: ISO 8601.", show_default=False)] = None
    document: Annotated[
        str | None, typer.Option("--document", help="external_id of the document that says so.", show_default=False)
    ] = None


def moment_of(text: str | None, *, option: str) -> datetime | None:
    """Raises InvalidInputError."""
    try:
        return None if text is None else written_moment(text)
    except ValueError:
        raise InvalidInputError(
            f"{option} is not an ISO 8601 time.", field=option, remedy="Write it as 2026-03-31T00:00:00Z."
        ) from None
