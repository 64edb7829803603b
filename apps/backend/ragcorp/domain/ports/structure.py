"""Ports for structure: extraction of entities, their lookup, and the documents whose entities are out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import DocumentStructure, EntityIdentity, EntityRef, EntityText, FileRef

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
    """What a name finds, at most the asked number in a total order; ``matches`` counts all (1,000 at most).

    ``nearness`` is how much of what was asked for as ``near`` each of ``found`` has; empty where nothing was.
    """

    found: tuple[Found, ...]
    matches: int
    nearness: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNeighbours:
    """Neighbours of an entity in the syntax tree, each list nearest first: by path, then by place.

    A name that it calls is the nearest symbol of that name, and none else; who calls it are those to whom no other of
    its name is nearer.
    """

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
        self,
        names: Sequence[str],
        *,
        principal: Principal,
        filters: Filters = (),
        limit: int,
        near: Sequence[str] = (),
        shown: Sequence[str] = (),
    ) -> Mapping[str, Named[FileRef]]:
        """Return the documents of each stored file or stem name, the nearest first, then by path.

        Near is a document whose path or title has the words (``application.place_words``) that are ``near``, at most
        64 of them: a word adds ln(matches of the name / those that have the word), so that what all have adds nothing;
        nor does one that says nothing in a language of the workspace ("de").
        Where that is equal the words that are ``shown`` decide alike.
        """
        ...

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
        """Return the entities of each stored name, the nearest first (as ``files``), then by path and position."""
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
    """Documents without entities (those of before), or whose entities those of a fingerprint replace.

    What replaces what says ``StructureFingerprint.replaces``.
    """

    async def outdated(self, fingerprint: str, *, after: UUID | None = None, limit: int) -> list[UnstructuredDocument]:
        """Return the first ``limit`` whose id is greater than ``after``, by id."""
        ...

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
        """Swap the entities of documents, and return which.

        Left alone are those that no longer have the content hash given with each, and those whose entities another
        wrote meanwhile that these do not replace.
        """
        ...

    async def count(self, fingerprint: str) -> int: ...
