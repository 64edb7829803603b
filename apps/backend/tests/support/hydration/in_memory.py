"""Structure and episodes in memory, for tests: they implement the ports, and fail or wait as they are told."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5
from zlib import crc32

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.storage import LexicalChunks
from ragcorp.domain.ports.structure import Named, SimilarEntity, SyntaxNeighbours
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import Hit, RankedList, ScoreType
from ragcorp.domain.search.requests import QuerySyntax
from ragcorp.domain.structure.entities import EntityIdentity, EntityKind, EntityRef, EntityText, FileRef
from ragcorp.domain.structure.hydration import DroppedEntity, HydratedEntity, Hydration, HydrationUse, HydrationWarning
from ragcorp.domain.text.entity_names import file_name, heading_name, stem_name, symbol_name
from ragcorp.domain.text.place_words import place_words


def ref(
    key: str,
    tokens: int = 100,
    *,
    head: int | None = None,
    position: int = 0,
    kind: EntityKind = EntityKind.FUNCTION,
    container: str | None = None,
) -> EntityRef:
    """Return an entity whose id and document follow from its key; its head has a tenth of its tokens."""
    path, *names = re.split("::|#", key, maxsplit=1)
    return EntityRef(
        id=crc32(key.encode()),
        key=key,
        kind=kind,
        name=names[0] if names else path,
        container=container,
        path=path,
        document_id=uuid5(NAMESPACE_URL, path),
        external_id=path,
        position=position,
        line_start=1,
        line_end=1,
        token_count=tokens,
        head_tokens=tokens // 10 if head is None else head,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A stored entity: ``score`` is its similarity to any query, None where it has no vector."""

    entity: EntityRef
    score: float | None = None
    calls: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        if self.entity.kind is EntityKind.FILE:
            return set()
        if self.entity.kind is EntityKind.SECTION:
            return {heading_name(self.entity.name)}
        return {symbol_name(self.entity.name), symbol_name(re.split(r"\.", self.entity.name)[-1])}


@dataclass
class Faults:
    """``errors`` are raised and ``gates`` waited for, by the name of the method that is called; ``calls`` counts.

    ``entered`` is set for a method that was called, ``ended`` for one that was cancelled at its gate.
    """

    errors: dict[str, Exception] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    entered: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    ended: defaultdict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def strike(self, method: str) -> None:
        self.calls[method] += 1
        self.entered[method].set()
        if method in self.gates:
            try:
                await self.gates[method].wait()
            except asyncio.CancelledError:
                self.ended[method].set()
                raise
        if method in self.errors:
            raise self.errors[method]


class MemoryIndex:
    """The port StructureIndex over a list; everyone may read all of it, and filters are not known."""

    def __init__(self, *kept: Kept | EntityRef) -> None:
        entities = [item if isinstance(item, Kept) else Kept(entity=item) for item in kept]
        self.kept = sorted(entities, key=lambda item: (item.entity.path, item.entity.position, item.entity.key))
        self.faults = Faults()
        self.gone: set[str] = set()
        self.chunks: dict[str, tuple[str, ...]] = {}
        self.similar_limits: list[int] = []

    async def files(
        self,
        names: Sequence[str],
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        near: Sequence[str] = (),
        shown: Sequence[str] = (),
    ) -> Mapping[str, Named[FileRef]]:
        await self.faults.strike("files")
        files = {item.entity.path: item.entity for item in self.kept}
        results: dict[str, Named[FileRef]] = {}
        for name in names:
            matching = [
                FileRef(document_id=entity.document_id, external_id=path, path=path, is_code=not path.endswith(".md"))
                for path, entity in files.items()
                if name in (file_name(path), stem_name(path))
            ]
            if matching:
                results[name] = nearest(matching, near, shown, limit=limit)
        return results

    async def named(
        self,
        names: Sequence[str],
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        near: Sequence[str] = (),
        shown: Sequence[str] = (),
    ) -> Mapping[str, Named[EntityRef]]:
        await self.faults.strike("named")
        results: dict[str, Named[EntityRef]] = {}
        for name in names:
            matching = [item.entity for item in self.kept if name in item.names]
            if matching:
                results[name] = nearest(matching, near, shown, limit=limit)
        return results

    async def of_documents(
        self, document_ids: Sequence[UUID], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[UUID, tuple[EntityRef, ...]]:
        await self.faults.strike("of_documents")
        return {
            document_id: tuple(
                item.entity
                for item in self.kept
                if item.entity.document_id == document_id and item.entity.kind is not EntityKind.IDENTIFIER
            )[:limit]
            for document_id in document_ids
        }

    async def within(
        self, entities: Sequence[EntityRef], *, principal: Principal, limit: int
    ) -> Mapping[int, tuple[EntityRef, ...]]:
        await self.faults.strike("within")
        inside = {
            entity.id: tuple(
                item.entity
                for item in self.kept
                if item.entity.document_id == entity.document_id and item.entity.container == entity.key
            )[:limit]
            for entity in entities
        }
        return {id_: result for id_, result in inside.items() if result}

    async def existing(
        self, identities: Sequence[EntityIdentity], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[EntityIdentity, EntityRef]:
        await self.faults.strike("known")
        asked = set(identities)
        return {item.entity.identity: item.entity for item in self.kept if item.entity.identity in asked}

    async def neighbours(
        self, entities: Sequence[EntityRef], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[int, SyntaxNeighbours]:
        await self.faults.strike("neighbours")
        calls = {item.entity.id: item for item in self.kept}
        return {entity.id: self._neighbours(calls[entity.id], limit) for entity in entities}

    def _neighbours(self, kept: Kept, limit: int) -> SyntaxNeighbours:
        others = [item for item in self.kept if item is not kept]
        return SyntaxNeighbours(
            calls=tuple(item.entity for item in others if item.names & set(kept.calls))[:limit],
            called_by=tuple(item.entity for item in others if kept.names & set(item.calls))[:limit],
            same_file=tuple(item.entity for item in others if item.entity.path == kept.entity.path)[:limit],
        )

    async def similar(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> tuple[SimilarEntity, ...]:
        self.similar_limits.append(limit)
        await self.faults.strike("similar")
        scored = [SimilarEntity(entity=item.entity, score=item.score) for item in self.kept if item.score is not None]
        return tuple(sorted(scored, key=lambda item: (-item.score, item.entity.path, item.entity.position))[:limit])

    async def at_chunks(
        self, chunk_ids: Sequence[str], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[str, tuple[EntityRef, ...]]:
        await self.faults.strike("at_chunks")
        by_key = {item.entity.key: item.entity for item in self.kept}
        return {chunk_id: tuple(by_key[key] for key in self.chunks.get(chunk_id, ())) for chunk_id in chunk_ids}

    async def texts(self, ids: Sequence[int], *, principal: Principal) -> Mapping[int, EntityText]:
        await self.faults.strike("texts")
        asked = set(ids)
        return {
            item.entity.id: text(item.entity.key)
            for item in self.kept
            if item.entity.id in asked and item.entity.key not in self.gone
        }


Placed = TypeVar("Placed", FileRef, EntityRef)


def nearest(matching: Sequence[Placed], near: Sequence[str], shown: Sequence[str], *, limit: int) -> Named[Placed]:
    """Order by the words of the paths, as the port says; what comes is in the order of its paths."""
    words = [frozenset(place_words(item.path)) for item in matching]
    holding = Counter(word for item in words for word in item)

    def weight(number: int, asked: Sequence[str]) -> float:
        return round(math.fsum(math.log(len(words) / holding[word]) for word in words[number] & set(asked)), 6)

    first = sorted(range(len(words)), key=lambda number: (-weight(number, near), -weight(number, shown)))[:limit]
    return Named(
        items=tuple(matching[number] for number in first),
        matches=len(matching),
        nearness=tuple(weight(number, near) for number in first) if near else (),
    )


def text(key: str) -> EntityText:
    return EntityText(
        content=f"the text of {key}",
        head=f"the head of {key}",
        artifact_hash=key.encode(),
        title="",
        language="",
        sensitivity=Sensitivity.NORMAL,
        chunk_id=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A recorded turn, as it came."""

    query: str
    model: str | None
    entities: tuple[HydratedEntity, ...]
    dropped: tuple[DroppedEntity, ...]
    warnings: tuple[HydrationWarning, ...]
    use: HydrationUse


class MemoryEpisodes:
    """What a turn calls of an EpisodeStore, which passes ``TurnsOfEpisodes``."""

    def __init__(self) -> None:
        self.turns: dict[tuple[str, str, str], list[Turn]] = {}
        self.faults = Faults()

    async def hydrated(self, episode_id: str, *, principal: Principal, limit: int) -> tuple[EntityIdentity, ...]:
        await self.faults.strike("hydrated")
        turns = self.turns.get((principal.workspace, principal.subject, episode_id), [])
        shown = (item.planned.entity.identity for turn in reversed(turns) for item in turn.entities)
        return tuple(dict.fromkeys(shown))[:limit]

    async def record(self, hydration: Hydration, *, query: str, principal: Principal) -> int:
        await self.faults.strike("record")
        turns = self.turns.setdefault((principal.workspace, principal.subject, hydration.episode_id), [])
        turns.append(
            Turn(
                query=query,
                model=hydration.model,
                entities=hydration.entities,
                dropped=hydration.dropped,
                warnings=hydration.warnings,
                use=hydration.use,
            )
        )
        return len(turns)


class MemoryKeywords:
    """Chunks by their share of the evidence, whatever is asked."""

    def __init__(self, shares: Mapping[str, float] | None = None) -> None:
        self.shares = dict(shares or {})
        self.faults = Faults()

    async def find_chunks_full_text(
        self,
        query: str,
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        syntax: QuerySyntax = QuerySyntax.PLAIN,
    ) -> LexicalChunks:
        await self.faults.strike("find_chunks_full_text")
        best = sorted(self.shares.items(), key=lambda item: (-item[1], item[0]))[:limit]
        hits = tuple(Hit(chunk_id=chunk_id, score=share, evidence=share) for chunk_id, share in best)
        nothing = RankedList(source="identifiers", score_type=ScoreType.IDENTIFIER_MATCH)
        return LexicalChunks(
            ranked_list=RankedList(source="full_text", score_type=ScoreType.BM25, hits=hits),
            identifiers=nothing,
            all_words=replace(nothing, source="all_words"),
        )


class MemoryFrequencies:
    """The port TermFrequencies: every word stands in as many chunks as told."""

    def __init__(self, frequency: int = 1, chunks: int = 0) -> None:
        self._frequency = frequency
        self._chunks = chunks
        self.faults = Faults()

    async def document_frequencies(self, text: str, *, principal: Principal) -> Mapping[str, int]:
        await self.faults.strike("document_frequencies")
        return dict.fromkeys(re.findall(r"[^\W_]{2,100}", text), self._frequency)

    async def count_chunks(self, *, principal: Principal) -> int:
        await self.faults.strike("count_chunks")
        return self._chunks
