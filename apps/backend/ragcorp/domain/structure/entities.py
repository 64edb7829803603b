"""Values of structure: the entities that a document is made of, and the names by which they are mentioned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from ragcorp.domain.principal import Sensitivity

MAX_ENTITY_CHARACTERS = 400_000
"""Maximum of an entity's own text; the chunks cover the rest."""

MAX_ENTITIES = 20_000
"""Maximum of a document's entities, in the order of its text; the chunks cover the rest."""

MAX_HEAD_TOKENS = 128
"""Maximum of an entity's head, which is shown where the whole does not fit."""


class EntityKind(StrEnum):
    """``file`` is the text of a file outside all other entities (imports, a preamble)."""

    FILE = "file"
    CLASS = "class"
    FUNCTION = "function"
    METHOD = "method"
    SECTION = "section"
    CLAUSE = "clause"
    ARTICLE = "article"
    IDENTIFIER = "identifier"


CODE_KINDS = frozenset({EntityKind.CLASS, EntityKind.FUNCTION, EntityKind.METHOD})


class NameKind(StrEnum):
    """Kinds of names. A stored name is ``<kind>:<folded>`` (see ``domain.text.entity_names``)."""

    FILE = "file"
    STEM = "stem"
    SYMBOL = "symbol"
    HEADING = "heading"
    CLAUSE = "clause"
    ARTICLE = "article"
    IDENTIFIER = "identifier"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDraft:
    """An entity of a document before it is stored: a span of its text under a stable key.

    key: ``path::Class.method``, ``path#heading``, ``path#clause 4.2``, ``path#article 14``, ``path#<code>`` or ``path``
    names, calls: stored names of the entity, and of the symbols that it calls
    content: its text without that of the entities inside; only an identifier repeats a line of another entity
    head: its signature with the first lines after it, up to MAX_HEAD_TOKENS, or the whole content if shorter
    index_text: the text to embed; None if the vectors of its chunks represent it
    line_start, line_end: 1-based and inclusive, of the whole span
    cut: the content was longer
    """

    key: str
    kind: EntityKind
    name: str
    names: tuple[str, ...]
    container: str | None
    language: str
    content: str
    head: str
    token_count: int
    head_tokens: int
    line_start: int
    line_end: int
    calls: tuple[str, ...] = ()
    index_text: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStructure:
    """The entities of a document in the order of its text; ``fingerprint`` names what extracted them."""

    fingerprint: str = ""
    path: str = ""
    entities: tuple[EntityDraft, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRef:
    """A stored entity without its text. ``position`` is its place in the document, from 0."""

    id: int
    key: str
    kind: EntityKind
    name: str
    container: str | None
    path: str
    document_id: UUID
    external_id: str
    position: int
    line_start: int
    line_end: int
    token_count: int
    head_tokens: int

    @property
    def identity(self) -> EntityIdentity:
        return EntityIdentity(document_id=self.document_id, key=self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityIdentity:
    """Identity of an entity across writes of its document."""

    document_id: UUID
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityText:
    """The text of an entity. ``chunk_id`` is the chunk in which it starts; citations use it."""

    content: str
    head: str
    artifact_hash: bytes
    title: str
    language: str
    sensitivity: Sensitivity
    chunk_id: str | None
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A document that a file mention matches."""

    document_id: UUID
    external_id: str
    path: str
    is_code: bool
