"""What a caller may not read appears in no result, count, explanation, context, fact, suggestion or error.

Every collection holds one passage of each policy, each with a word of its own; callers are drawn at random.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import DocumentAttributes, VisibilityScope
from ragcorp.domain.exceptions import RagcorpError
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import Hit, RankedList
from ragcorp.interface.library.rag import Rag
from ragcorp.main.wiring.base import Parts
from support.models.embedders import HashingEmbedder
from support.retrieval.corpus import OpenRag

pytestmark = pytest.mark.anyio

WRITER = Principal(subject="root", groups=frozenset({"legal", "ventas"}), clearance=Sensitivity.RESTRICTED)
OWNERS = {VisibilityScope.WORKSPACE: "root", VisibilityScope.GROUP: "legal", VisibilityScope.PRIVATE: "root"}
KINDS = ("doc", "mem", "hist", "fact")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    scope: VisibilityScope
    sensitivity: Sensitivity

    @property
    def owner(self) -> str:
        return OWNERS[self.scope]

    def lets(self, principal: Principal) -> bool:
        if self.sensitivity > principal.clearance:
            return False
        if self.scope is VisibilityScope.GROUP:
            return self.owner in principal.groups
        return self.scope is VisibilityScope.WORKSPACE or principal.subject == self.owner


POLICIES = [Policy(scope=scope, sensitivity=level) for scope, level in product(VisibilityScope, Sensitivity)]


def word(kind: str, policy: Policy) -> str:
    """A word that stands in one passage only."""
    letters = "abcdefghijklm"
    return f"zq{kind}{letters[POLICIES.index(policy)] * 3}x"


def hidden(principal: Principal) -> list[str]:
    return [word(kind, policy) for kind, policy in product(KINDS, POLICIES) if not policy.lets(principal)]


class Everything:
    """A source of the user's own that knows no visibility: it gives whatever there is, to anyone."""

    name = "careless"

    def __init__(self) -> None:
        self.hits: tuple[Hit, ...] = ()

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        return SourceAnswer(ranked_list=RankedList(source=self.name, score_type="none", hits=self.hits))


async def fill(rag: Rag, careless: Everything) -> None:
    for policy in POLICIES:
        about = {
            "sensitivity": policy.sensitivity,
            "visibility_scope": policy.scope,
            "owner": policy.owner,
            "language": "es",
        }
        attributes = DocumentAttributes(title=f"título {word('doc', policy)}", **about)  # type: ignore[arg-type]
        text = f"La entrega del contrato {word('doc', policy)} es mañana."
        await rag.ingest_text(f"{word('doc', policy)}.md", text, attributes=attributes)
        await rag.memory.add(f"La entrega {word('mem', policy)} urge", entities=[word("mem", policy)], **about)
        turn = f"Hablamos de la entrega {word('hist', policy)}"
        await rag.history.add(turn, speaker=word("hist", policy), session=word("hist", policy), **about)
        await rag.graph.add_entity(f"Entidad {word('fact', policy)}", **about)
        fact = f"depende de {word('fact', policy)}"
        await rag.graph.add_fact("Entrega", fact, f"Entidad {word('fact', policy)}", **about)
    await rag.embed_pending()
    results = [await rag.search("entrega", profile=profile, limit=50) for profile in ("everything", "hybrid")]
    keys = dict.fromkeys(hit.chunk.key for response in results for hit in response.hits)
    careless.hits = tuple(
        Hit(item_id=key[0], collection=key[1], score=1.0) if key[1] else Hit(chunk_id=key[0], score=1.0) for key in keys
    )
    assert len(careless.hits) >= len(POLICIES) * len(KINDS)


async def everything_said(rag: Rag, query: str) -> Iterator[str]:
    """Return what the caller gets to see by every way."""
    said: list[object] = [
        await rag.search(
            query, profile=profile, include_memory=True, explain=True, facets=True, expand_neighbors=1, limit=50
        )
        for profile in ("everything", "memory", "collections", "hybrid", "linear", "sparse")
    ]
    said += [await rag.context(query, limit=50), await rag.ask(query), await rag.ask(query, profile="memory")]
    said.append(await rag.facets())
    said += [await rag.memory.list(), await rag.history.list(), await rag.graph.facts(), await rag.graph.entities()]
    said += [await rag.documents(), await rag.chunks.list()]
    return map(repr, said)


async def error_of(call: object) -> str:
    try:
        await call  # type: ignore[misc]
    except RagcorpError as error:
        return f"{error!r} {error} {error.message} {error.field} {error.remedy}"
    return "no error"


@pytest.fixture
async def filled(open_rag: OpenRag) -> tuple[Rag, Everything]:
    careless = Everything()
    parts = Parts(embedder=HashingEmbedder(), sources={"careless": careless})
    patient = {"source_timeout_seconds": 60, "search_timeout_seconds": 90}  # that a machine is busy is no fault here
    rag: Rag = await open_rag(parts=parts, max_limit=500, enable_hybrid_search=True, **patient)
    await fill(rag.as_principal(WRITER), careless)
    return rag, careless


principals = st.builds(
    Principal,
    subject=st.sampled_from(["ann", "root"]),
    groups=st.frozensets(st.sampled_from(["legal", "otros"])),
    clearance=st.sampled_from(Sensitivity),
)


async def test_no_way_shows_it(filled: tuple[Rag, Everything]) -> None:
    rag, _ = filled
    drawn: list[Principal] = []

    @settings(max_examples=6, database=None, suppress_health_check=list(HealthCheck))
    @given(principals)
    def draw(principal: Principal) -> None:
        drawn.append(principal)

    draw()
    for principal in dict.fromkeys([*drawn, Principal(subject="ann", clearance=Sensitivity.PUBLIC)]):
        secrets = hidden(principal)
        mine = rag.as_principal(principal)
        near = f"{secrets[0][:-1]}y" if secrets else "zqdocy"
        for query in ("la entrega del contrato", near):
            for text in await everything_said(mine, query):
                assert not [secret for secret in secrets if secret in text], (principal, query)


async def test_what_is_deleted_is_seen_by_no_one(filled: tuple[Rag, Everything]) -> None:
    rag, _ = filled
    writer = rag.as_principal(WRITER)
    (policy,) = [entry for entry in POLICIES if entry.scope is VisibilityScope.WORKSPACE and not entry.sensitivity]
    await writer.delete(f"{word('doc', policy)}.md")
    memories, _ = await writer.memory.list()
    (memory,) = [item for item in memories if word("mem", policy) in item.text]
    await writer.memory.delete(memory.external_id)
    gone = [word("doc", policy), word("mem", policy)]
    for text in await everything_said(writer, "la entrega del contrato"):
        assert not [entry for entry in gone if entry in text]


async def test_counts_are_of_what_may_be_read(filled: tuple[Rag, Everything]) -> None:
    rag, _ = filled
    for principal in (
        Principal(subject="ann", clearance=Sensitivity.PUBLIC),
        Principal(subject="ann", groups=frozenset({"legal"}), clearance=Sensitivity.CONFIDENTIAL),
        WRITER,
    ):
        mine = rag.as_principal(principal)
        readable = sum(policy.lets(principal) for policy in POLICIES)
        counted = (await mine.facets()).counts["collection"]
        assert counted == {
            "artifact_chunks": readable,
            "artifacts": readable,
            "graph": readable,
            "history": readable,
            "memory": readable,
        }
        response = await mine.search("entrega", profile="everything", explain=True, limit=500)
        reports = {report.source: report.hits for report in response.reports}
        assert reports["careless"] <= 5 * readable
        assert max(reports.values()) <= 5 * readable
        assert all(step.before <= 5 * readable for step in response.steps)
        (words,) = [line for line in response.explanation["sources"] if line["source"] == "full_text"]  # type: ignore[index, attr-defined]
        assert words["chunks"] == readable


async def test_errors_do_not_tell_it_either(filled: tuple[Rag, Everything]) -> None:
    rag, _ = filled
    principal = Principal(subject="ann", clearance=Sensitivity.PUBLIC)
    mine = rag.as_principal(principal)
    for policy in (policy for policy in POLICIES if not policy.lets(principal)):
        unreadable = [
            (mine.document(f"{word('doc', policy)}.md"), mine.document("nada.md")),
            (mine.memory.get(word("mem", policy)), mine.memory.get("nada")),
            (mine.history.delete(word("hist", policy)), mine.history.delete("nada")),
            (mine.graph.fact(word("fact", policy)), mine.graph.fact("nada")),
        ]
        for secret, missing in unreadable:
            assert await error_of(secret) == await error_of(missing)
