"""Ports for structure: extraction of entities, their lookup, and the documents whose entities are out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.models import Vector
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure import DocumentStructure, EntityIdentity, EntityRef, EntityText, FileRef

Found = TypeVar("Found")


class Tokenizer(Protocol):
    """Counts the tokens that a language model would see. Pure and fast; any text is taken."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class StructureExtractor(Protocol):
    """Finds the entities of a document. Blocking; broken code yields what can be parsed, and nothing raises."""

    @property
    def fingerprint(self) -> str:
        """Names algorithm, tokenizer and grammars: another one means that other entities may come out."""
        ...

    def extract(self, parsed: ParsedText, *, path: str, title: str) -> DocumentStructure: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Generic[Found]):
    """What a name finds, at most the asked number in a total order; ``matches`` counts all (1,000 at most)."""

    found: tuple[Found, ...]
    matches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNeighbours:
    """Neighbours of an entity in the syntax tree, each list nearest first: by path, then by place."""

    calls: tuple[EntityRef, ...] = ()
    called_by: tuple[EntityRef, ...] = ()
    same_file: tuple[EntityRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarEntity:
    """An entity and its cosine similarity in [-1, 1]."""

    entity: EntityRef
    score: float


class StructureIndex(Protocol):
    """Entities of documents that the principal may read and that meet the filters; every order is total.

    Filters that documents do not have leave nothing. Outages are a StorageUnavailableError.
    """

    async def files(
        self, names: Sequence[str], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[str, Named[FileRef]]:
        """Return the documents of each stored file or stem name, by path."""
        ...

    async def named(
        self, names: Sequence[str], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[str, Named[EntityRef]]:
        """Return the entities of each stored name, by path and position."""
        ...

    async def of_documents(
        self, document_ids: Sequence[UUID], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[UUID, tuple[EntityRef, ...]]:
        """Return the first ``limit`` entities of each document in the order of its text, without identifiers."""
        ...

    async def within(
        self, entities: Sequence[EntityRef], *, principal: Principal, limit: int
    ) -> Mapping[int, tuple[EntityRef, ...]]:
        """Return, by entity id, the first ``limit`` entities inside each entity (of any depth), in text order.

        Without identifiers: they repeat a line of it.
        """
        ...

    async def known(
        self, identities: Sequence[EntityIdentity], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[EntityIdentity, EntityRef]:
        """Return those that are (still) there."""
        ...

    async def neighbours(
        self, entities: Sequence[EntityRef], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[int, SyntaxNeighbours]:
        """Return, by entity id, at most ``limit`` neighbours of each kind; code only."""
        ...

    async def similar(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> tuple[SimilarEntity, ...]:
        """Return the ``limit`` most similar entities, best first, then by path and position.

        Symbols by vectors of their own, what of other texts by those of the chunks in which they stand; by index.
        """
        ...

    async def at_chunks(
        self, chunk_ids: Sequence[str], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[str, tuple[EntityRef, ...]]:
        """Return the entities whose own text a chunk holds, by chunk id, in text order, without identifiers."""
        ...

    async def texts(self, ids: Sequence[int], *, principal: Principal) -> Mapping[int, EntityText]:
        """Return what is shown of those that are still there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstructuredDocument:
    """A stored document whose entities are missing or out of date, with what they are extracted from."""

    document_id: UUID
    content_hash: bytes
    path: str
    title: str
    filename: str
    parsed: ParsedText


class StructureBacklog(Protocol):
    """Documents whose entities another extractor made, or none: those of before, and after an extra was installed."""

    async def outdated(self, fingerprint: str, *, limit: int) -> list[UnstructuredDocument]: ...

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> int:
        """Swap the entities of documents that still have the content hash given with each; return how many."""
        ...

    async def count(self, fingerprint: str) -> int: ...
