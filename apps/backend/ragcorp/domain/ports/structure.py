"""Ports for structure: extraction of entities, their lookup, and the documents whose entities are out of date."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.embeddings import Vector
from ragcorp.domain.filters import Filters
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import DocumentStructure, EntityIdentity, EntityRef, EntityText, FileRef

Match = TypeVar("Match")


class Tokenizer(Protocol):
    """Counts the tokens of any text as a language model does. Pure and fast."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class StructureExtractor(Protocol):
    """Extracts the entities of a document. Blocking; never raises: broken code yields the entities that parse."""

    @property
    def fingerprint(self) -> str:
        """Identifies algorithm, tokenizer and grammars; with another fingerprint the entities may differ."""

    def extract(self, parsed: ParsedText, *, path: str) -> DocumentStructure: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Generic[Match]):
    """Matches of a name, up to a limit; ``matches`` counts up to 1,000. ``nearness`` has a weight for each, or none."""

    items: tuple[Match, ...]
    matches: int
    nearness: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNeighbours:
    """Neighbours of an entity in the syntax tree, nearest first: by path, then by position.

    A call resolves to the nearest symbol of that name only; callers are those for which no other symbol of the
    entity's name is nearer.
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
    """Looks up entities of readable documents in total orders. Outages are a StorageUnavailableError."""

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

        A document is nearer the more of the ``near`` words (``domain.text.place_words``, at most 64) its path or title
        has: a word adds ln(matches of the name / matches with the word), so a word of all matches adds nothing; nor
        does a stop word of a language of the workspace ("de"). The ``shown`` words break ties in the same way.
        """

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

    async def of_documents(
        self, document_ids: Sequence[UUID], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[UUID, tuple[EntityRef, ...]]:
        """Return the first ``limit`` entities of each document in the order of its text, without identifiers."""

    async def within(
        self, entities: Sequence[EntityRef], *, principal: Principal, limit: int
    ) -> Mapping[int, tuple[EntityRef, ...]]:
        """Return, by entity id, the first entities inside it at any depth, in text order, without identifiers."""

    async def existing(
        self, identities: Sequence[EntityIdentity], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[EntityIdentity, EntityRef]:
        """Return the entities that exist."""

    async def neighbours(
        self, entities: Sequence[EntityRef], *, principal: Principal, filters: Filters = (), limit: int
    ) -> Mapping[int, SyntaxNeighbours]:
        """Return, by entity id, at most ``limit`` neighbours of each kind; code only."""

    async def similar(
        self, embedding: Vector, *, principal: Principal, filters: Filters = (), limit: int
    ) -> tuple[SimilarEntity, ...]:
        """Return the most similar entities, then by path and position; entities of prose by their chunks' vectors."""

    async def at_chunks(
        self, chunk_ids: Sequence[str], *, principal: Principal, filters: Filters = ()
    ) -> Mapping[str, tuple[EntityRef, ...]]:
        """Return, by chunk id, the entities with text of their own in the chunk, in text order, without identifiers."""

    async def texts(self, ids: Sequence[int], *, principal: Principal) -> Mapping[int, EntityText]:
        """Return the texts of the entities that exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstructuredDocument:
    """A stored document whose entities are missing or outdated, with the text to extract them from."""

    document_id: UUID
    content_hash: bytes
    path: str
    filename: str
    parsed: ParsedText


class StructureBacklog(Protocol):
    """Documents without entities, or whose entities a fingerprint replaces (``StructureFingerprint.replaces``)."""

    async def outdated(self, fingerprint: str, *, after: UUID | None = None, limit: int) -> list[UnstructuredDocument]:
        """Return the first ``limit`` whose id is greater than ``after``, by id."""

    async def save(self, structures: Mapping[UUID, tuple[bytes, DocumentStructure]]) -> frozenset[UUID]:
        """Replace the entities of unchanged documents, unless theirs are newer; return the ids of these documents."""

    async def count(self, fingerprint: str) -> int: ...
