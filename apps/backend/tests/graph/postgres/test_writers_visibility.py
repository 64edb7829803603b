"""Whoever writes what for whom: each reader sees the graph that the readable drafts alone would have made."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope, WriteOutcome
from ragcorp.domain.exceptions import NotFoundError
from ragcorp.domain.graph import EntityDraft, EntityReference, FactDraft, GraphSelection, Provenance
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from support.graph.facts import graph_search
from support.storage.postgres import open_database, repository_over
from support.storage.stored import written

LEGAL = frozenset({"legal"})
PEOPLE = (
    Principal(subject="ana", groups=LEGAL, clearance=Sensitivity.NORMAL),
    Principal(subject="luis", clearance=Sensitivity.NORMAL),
    Principal(subject="jefa", groups=LEGAL, clearance=Sensitivity.RESTRICTED),
)
NAMES = ("Goya", "GOYA", "Acme", "acmé")
DOCUMENTS = {
    "open.md": (Sensitivity.NORMAL, VisibilityScope.WORKSPACE, ""),
    "legal.md": (Sensitivity.NORMAL, VisibilityScope.GROUP, "legal"),
    "secret.md": (Sensitivity.RESTRICTED, VisibilityScope.WORKSPACE, ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """An entity, or with ``object`` a fact, of a writer."""

    writer: Principal
    sensitivity: Sensitivity
    scope: VisibilityScope
    subject: str
    object: str | None
    predicate: str
    document: str | None

    def draft(self) -> EntityDraft | FactDraft:
        owner = {VisibilityScope.PRIVATE: self.writer.subject, VisibilityScope.GROUP: "legal"}.get(self.scope, "")
        attributes = DocumentAttributes(
            artifact_type="entity" if self.object is None else "fact",
            sensitivity=self.sensitivity,
            visibility_scope=self.scope,
            owner=owner,
        )
        if self.object is None:
            return EntityDraft(name=self.subject, description=self.predicate, attributes=attributes)
        return FactDraft(
            subject=EntityReference(name=self.subject),
            object=EntityReference(name=self.object, field="object"),
            predicate=self.predicate,
            attributes=attributes,
            # a made name holds the id of the document, which is another one in each workspace
            external_id=self.document and f"{self.document} {self.subject} {self.object} {self.predicate} {attributes}",
            provenance=None if self.document is None else Provenance(document=self.document),
        )


def allowed(write: Write) -> bool:
    return write.sensitivity <= write.writer.clearance and (
        write.scope is not VisibilityScope.GROUP or bool(write.writer.groups)
    )


WRITES = st.builds(
    Write,
    writer=st.sampled_from(PEOPLE),
    sensitivity=st.sampled_from([Sensitivity.NORMAL, Sensitivity.NORMAL, Sensitivity.RESTRICTED]),
    scope=st.sampled_from(list(VisibilityScope)),
    subject=st.sampled_from(NAMES),
    object=st.sampled_from([None, *NAMES]),
    predicate=st.sampled_from(["uno", "dos"]),
    document=st.sampled_from([None, None, *DOCUMENTS]),
).filter(allowed)

numbers = itertools.count()


async def made(
    database: Database, writes: Sequence[Write], reader: Principal
) -> tuple[list[bool], list[object], Principal]:
    """Store the writes in a workspace of their own: which of them the reader reads, and what it is told of its own."""
    workspace = f"v{next(numbers)}"
    reader = replace(reader, workspace=workspace)
    graph = PostgresGraphRepository(database=database)
    everyone = Principal(workspace=workspace)
    await (await repository_over(database)).save_many(
        [
            written(name, "texto", sensitivity=sensitivity, visibility_scope=scope, owner=owner)
            for name, (sensitivity, scope, owner) in DOCUMENTS.items()
        ],
        principal=everyone,
    )
    shown: list[bool] = []
    told: list[object] = []
    for write in writes:
        draft = write.draft()
        save: Any = graph.save_facts if isinstance(draft, FactDraft) else graph.save_entities
        get: Any = graph.get_fact if isinstance(draft, FactDraft) else graph.get_entity
        (outcome,) = await save([draft], principal=replace(write.writer, workspace=workspace))
        if write.writer.subject == reader.subject:
            told.append(outcome if isinstance(outcome, WriteOutcome) else str(outcome.error))
            shown.append(True)
            continue
        try:
            await get(getattr(outcome, "external_id", "none"), principal=reader)
            shown.append(True)
        except NotFoundError:
            shown.append(False)
    return shown, told, reader


async def seen(database: Database, reader: Principal) -> object:
    """Return all that the reader sees, with the order of all times."""
    graph = PostgresGraphRepository(database=database)
    entities = (await graph.list_entities(GraphSelection(), principal=reader, limit=200)).items
    facts = (await graph.list_facts(GraphSelection(), principal=reader, limit=200)).items
    every: list[Any] = [*entities, *facts]
    moments = sorted({moment for one in every for moment in (one.created_at, one.updated_at)})
    order = {moment: place for place, moment in enumerate(moments)}
    search = await graph_search(database, model=None)
    names = {fact.id: fact.external_id for fact in facts}
    walked = [
        [
            (names[str(hit.item_id)], hit.score)
            for hit in (await search.find_facts(query, None, principal=reader, limit=50)).hits
        ]
        for query in ("goya", "acme uno")
    ]
    described = [
        replace(one, id="", created_at=order[one.created_at], updated_at=order[one.updated_at]) for one in every
    ]
    # the name of an entity that gave way is random
    shown = sorted(re.sub("~~[0-9a-f]{16}", "~~", repr(one)) for one in described)
    return shown, [one.external_id for one in sorted(facts, key=lambda fact: int(fact.id))], walked


@pytest.mark.hypothesis
def test_each_reader_sees_what_the_readable_drafts_alone_would_have_made(dsn: str) -> None:
    async def compare(database: Database, writes: Sequence[Write], reader: Principal) -> None:
        shown, told, in_whole = await made(database, writes, reader)
        readable = [write for write, is_shown in zip(writes, shown, strict=True) if is_shown]
        _, told_in_part, in_part = await made(database, readable, reader)
        assert told == told_in_part
        assert await seen(database, in_whole) == await seen(database, in_part)

    async def run() -> None:
        async with open_database(dsn) as database:
            loop = asyncio.get_running_loop()

            @settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=list(HealthCheck))
            @given(writes=st.lists(WRITES, max_size=8), reader=st.sampled_from(PEOPLE))
            def check(writes: list[Write], reader: Principal) -> None:
                asyncio.run_coroutine_threadsafe(compare(database, writes, reader), loop).result(60)

            await asyncio.to_thread(check)

    asyncio.run(run())
