"""The collections as SQL: their rows, identities, and columns as passages. All SQL here is constant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.filters import Filters, fields_of, narrowed_to
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.infrastructure.postgres.visibility import predicates
from ragcorp.infrastructure.postgres.visibility.graph import readable_facts
from ragcorp.infrastructure.postgres.visibility.predicates import FilterTable, Predicate, filtered, visibility

OPENING = 4000
"""Characters of a whole document that a result shows."""

PASSAGE_COLUMNS: Mapping[str, str] = {
    "document_id": "NULL::uuid",
    "external_id": "{alias}.external_id",
    "chunk_index": "0",
    "content": "{alias}.text",
    "heading_path": "ARRAY[]::text[]",
    "title": "''",
    "language": "{alias}.language",
    "path": "NULL::text",
    "metadata": "{alias}.metadata",
    "line_start": "1",
    "line_end": "NULL::integer",
    "page_start": "NULL::integer",
    "page_end": "NULL::integer",
    "recognition_confidence": "NULL::real",
    "artifact_type": "{alias}.artifact_type",
    "sensitivity": "{alias}.sensitivity",
    "visibility_scope": "{alias}.visibility_scope",
    "owner": "{alias}.owner",
    "occurred_at": "{alias}.occurred_at",
    "session": "NULL::text",
    "speaker": "NULL::text",
    "entities": "NULL::text[]",
}
"""The fields of a Chunk except its key, with default columns. A null ``document_id`` or ``line_end`` is
derived; null ``entities`` are none, since reading an empty array costs psycopg more than the other columns."""


class Share(Enum):
    """Which rows are counted for the share of a collection that has vectors."""

    OF_ROWS = auto()
    OF_READABLE_ROWS = auto()
    OF_DOCUMENTS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """A table of vectors, which ``key`` refers to the rows; ``backlog`` lists the rows that wait for one."""

    table: str
    key: str
    backlog: str
    share: Share = Share.OF_READABLE_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """A table with ``length`` and ``terms`` of each item; ``seed`` is the SQL of the seed of its keys.

    ``alias`` is that of the collection's rows if the table is theirs. ``contains`` is a query with a row if the item
    ``best.key`` contains a lexeme of the tsquery ``words.query``.
    """

    table: str
    alias: str
    key: str
    seed: str
    contains: str


class Readable(Protocol):
    """Returns the condition under which a principal may read a row."""

    def __call__(self, principal: Principal, *, alias: str) -> Predicate: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CollectionTable:
    """``rows`` is a FROM clause, in which ``alias`` has the filter columns and ``key`` (``key_type``) is the identity.

    ``by_documents``: documents have the rows' attributes and their number, so that filters are counted there.
    ``readable`` and ``condition`` select the rows. ``artifact`` is the document of a row, ``ages_from`` the moment from
    which it ages, if not ``occurred_at``. ``lexemes`` is a tsvector.
    """

    collection: str
    rows: str
    alias: str
    key: str
    key_type: str = "bigint"
    filterable: FilterTable
    documents_alias: str | None = None
    by_documents: bool = False
    readable: Readable = visibility
    condition: str = "true"
    artifact: str = "NULL::uuid"
    ages_from: str | None = None
    lexemes: str
    vectors: Vectors | None = None
    postings: Postings | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> frozenset[str]:
        """The fields that can be filtered."""
        return frozenset({*self.filterable.columns, *self.filterable.on_documents})

    @property
    def with_vectors(self) -> Vectors:
        """Raises ValueError for a collection without vectors."""
        if self.vectors is None:
            raise ValueError(f"{self.collection} has no vectors")
        return self.vectors

    @property
    def with_postings(self) -> Postings:
        """Raises ValueError for a collection without postings."""
        if self.postings is None:
            raise ValueError(f"{self.collection} has no postings")
        return self.postings

    @property
    def passage(self) -> str:
        """The select list of ``PASSAGE_COLUMNS``, in their order."""
        return ", ".join(
            f"{self.columns.get(name, default.format(alias=self.alias))} AS {name}"
            for name, default in PASSAGE_COLUMNS.items()
        )

    def visible(self, principal: Principal) -> Predicate:
        """Return the condition for rows of the collection that the principal may read."""
        return self.readable(principal, alias=self.alias) & Predicate.of(self.condition)

    def narrowed(self, filters: Filters) -> Predicate:
        """Return the filters as a condition on ``rows``. Raises InvalidInputError for an unknown field."""
        return filtered(filters, table=self.filterable, alias=self.alias, documents_alias=self.documents_alias)

    def passing(
        self, principal: Principal, filters: Filters, *, place: int, collection: str | None = None
    ) -> Predicate | None:
        """Return ``visible`` and the filters, for a statement over several collections.

        Filters are narrowed per collection, so the names of their values end in its ``place``. None if no row can pass,
        or a field is missing. ``collection`` replaces this one in filters.
        """
        narrowed = narrowed_to(filters, collection or self.collection)
        if narrowed is None or fields_of(narrowed) - self.fields:
            return None
        visible, condition = self.visible(principal), self.narrowed(narrowed)
        named = {name: f"{name}_of_{place}" for name in condition.values}
        placeholders = {name: f"%({new})s" for name, new in named.items()}
        return Predicate(
            clauses=[*visible.clauses, *(clause % placeholders for clause in condition.clauses)],
            values=visible.values | {named[name]: value for name, value in condition.values.items()},
        )


ARTIFACTS = CollectionTable(
    collection=Collection.ARTIFACTS,
    rows="documents d",
    alias="d",
    key="d.id",
    key_type="uuid",
    filterable=predicates.DOCUMENTS,
    condition="d.deleted_at IS NULL",
    artifact="d.id",
    lexemes="text_lexemes(d.language, d.title)",
    vectors=Vectors(
        table="document_embeddings", key="document_id", backlog="embedding_backlog", share=Share.OF_DOCUMENTS
    ),
    postings=Postings(
        table="document_terms",
        alias="p",
        key="document_id",
        contains="SELECT FROM chunks WHERE document_id = best.key AND lexemes @@ words.query LIMIT 1",
        seed="(SELECT w.id FROM bm25_workspaces w WHERE w.workspace = %(workspace)s)",
    ),
    columns={"document_id": "d.id", "content": f"left(d.text, {OPENING})", "title": "d.title", "path": "d.path"},
)

CHUNK_VECTORS = Vectors(table="chunk_embeddings", key="chunk_id", backlog="embedding_backlog", share=Share.OF_ROWS)

CHUNKS = CollectionTable(
    collection=CHUNK_COLLECTION,
    rows="chunks c",
    alias="c",
    key="c.id",
    filterable=predicates.CHUNKS,
    by_documents=True,
    lexemes="c.lexemes",
    vectors=CHUNK_VECTORS,
)
"""Chunks for search, without their documents: a join would cost a lookup per candidate."""

ARTIFACT_CHUNKS = CollectionTable(
    collection=CHUNK_COLLECTION,
    rows="chunks c JOIN documents d ON d.id = c.document_id",
    alias="c",
    key="c.id",
    filterable=predicates.CHUNKS,
    documents_alias="d",
    artifact="c.document_id",
    lexemes="c.lexemes",
    vectors=CHUNK_VECTORS,
    columns={
        "document_id": "c.document_id",
        "external_id": "d.external_id",
        "chunk_index": "c.chunk_index",
        "content": "c.content",
        "heading_path": "c.heading_path",
        "title": "c.title",
        "path": "d.path",
        "metadata": "d.metadata",
        "line_start": "c.line_start",
        "line_end": "c.line_end",
        "page_start": "c.page_start",
        "page_end": "c.page_end",
        "recognition_confidence": "c.recognition_confidence",
    },
)


def _items(collection: Collection, *, table: str, name: str, filterable: FilterTable) -> CollectionTable:
    return CollectionTable(
        collection=collection,
        rows=f"{table} i",
        alias="i",
        key="i.id",
        filterable=filterable,
        lexemes="i.lexemes",
        vectors=Vectors(table=f"{name}_embeddings", key="item_id", backlog=f"{name}_backlog"),
        postings=Postings(
            table=table,
            alias="i",
            key="id",
            seed="hashtext(%(workspace)s)",
            contains=f"SELECT FROM {table} WHERE id = best.key AND lexemes @@ words.query LIMIT 1",
        ),
        columns={"session": "i.session", "speaker": "i.speaker", "entities": "i.entities"},
    )


MEMORY = _items(Collection.MEMORY, table="memory_items", name="memory", filterable=predicates.MEMORY)
HISTORY = _items(Collection.HISTORY, table="history_turns", name="history", filterable=predicates.HISTORY)

FACTS = CollectionTable(
    collection=GRAPH,
    rows="facts f JOIN entities s ON s.id = f.subject_id JOIN entities o ON o.id = f.object_id",
    alias="f",
    key="f.id",
    filterable=predicates.FACTS,
    readable=readable_facts,
    ages_from="f.valid_to",
    lexemes="f.lexemes",
    columns={"content": "s.name || ' -> ' || o.name || ': ' || f.predicate", "entities": "ARRAY[s.name, o.name]"},
)

TABLES: Mapping[str, CollectionTable] = {
    table.collection: table for table in (ARTIFACTS, ARTIFACT_CHUNKS, MEMORY, HISTORY, FACTS)
}
