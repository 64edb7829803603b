"""The kinds of text that have vectors: where each stores its rows, its vectors and its embedding backlog."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedTable:
    """Rows of ``items`` (alias i) with a text; ``embeddings`` and ``backlog`` refer to them by ``key``.

    ``text`` is three columns (title, heading path, content); ``wanted`` selects the rows that have a text.
    ``of_document`` is the condition on the backlog that selects the rows of one document and its parts; None for rows
    without a document.
    Rows of documents are written under the lock of their document, their vectors outlive them in the cache, and
    ``averaged`` ones also make the document's vector.
    """

    items: str
    embeddings: str
    backlog: str
    text: str
    key: str = "item_id"
    wanted: str = "true"
    of_document: str | None = None
    averaged: bool = False
    backlog_columns: str = "item_id, workspace"
    backlog_values: str = "i.id, i.workspace"

    def sql(self, statement: str, **parts: str) -> str:
        """Return a statement template for this table; ``parts`` fill its other fields."""
        return statement.format(
            items=self.items,
            embeddings=self.embeddings,
            backlog=self.backlog,
            text=self.text,
            key=self.key,
            wanted=self.wanted,
            backlog_columns=self.backlog_columns,
            backlog_values=self.backlog_values,
            group="id" if self.of_document is None else "document_id",
            cached="" if self.of_document is None else CACHED,
            **parts,
        )

    @property
    def lock(self) -> str:
        """The statement that comes first in every write of several vectors of the rows ``ids``.

        It locks in the order in which saves and deletions lock: writers wait for one another and never deadlock.
        Returns the id and workspace of each document, or of each row without one.
        """
        return self.sql(LOCK_ITEMS if self.of_document is None else LOCK_DOCUMENTS)


LOCK_ITEMS = """
    SELECT id, workspace FROM {items} WHERE id = ANY(%(ids)s) ORDER BY workspace, external_id FOR NO KEY UPDATE
"""

LOCK_DOCUMENTS = """
    SELECT id, workspace FROM documents
    WHERE id IN (SELECT document_id FROM {items} WHERE id = ANY(%(ids)s))
    ORDER BY workspace, external_id
    FOR NO KEY UPDATE
"""

LACKS_ACTIVE_VECTOR = """NOT EXISTS (
        SELECT FROM {embeddings} e JOIN embedding_models m ON m.id = e.model_id AND m.active WHERE e.{key} = i.id)"""
"""Condition on rows i without a vector of the active model."""

CACHED = """,
    cached AS (
        INSERT INTO embedding_cache (workspace, content_hash, model_id, embedding)
        SELECT workspace, content_hash, model_id, %(embedding)s FROM item
        ON CONFLICT DO NOTHING)"""
"""Only for rows of documents: a cached vector would outlive a deleted item."""

WITH_PARTS = "SELECT id FROM documents WHERE %(document_id)s IN (id, part_of)"

CHUNKS = EmbeddedTable(
    items="chunks",
    embeddings="chunk_embeddings",
    backlog="embedding_backlog",
    text="i.title, i.heading_path, i.content",
    key="chunk_id",
    of_document=f"document_id IN ({WITH_PARTS})",
    averaged=True,
    backlog_columns="chunk_id, document_id, workspace",
    backlog_values="i.id, i.document_id, i.workspace",
)
STRUCTURE = EmbeddedTable(
    items="structural_entities",
    embeddings="structural_entity_embeddings",
    backlog="structural_entity_backlog",
    text="'', '{}'::text[], i.index_text",
    wanted="i.index_text IS NOT NULL",
    of_document=f"item_id IN (SELECT id FROM structural_entities WHERE document_id IN ({WITH_PARTS}))",
)


def _items(items: str, *, name: str, text: str) -> EmbeddedTable:
    """Return the tables of items. The SHA-256 of the SQL expression ``text`` is their ``content_hash``."""
    return EmbeddedTable(
        items=items, embeddings=f"{name}_embeddings", backlog=f"{name}_backlog", text=f"'', '{{}}'::text[], {text}"
    )


SPOKEN_TEXT = "concat_ws(': ', i.speaker, i.text)"

MEMORY = _items("memory_items", name="memory", text=SPOKEN_TEXT)
HISTORY = _items("history_turns", name="history", text=SPOKEN_TEXT)
ENTITIES = _items("entities", name="entity", text="concat_ws('. ', i.name, nullif(i.description, ''))")

OF_DOCUMENTS = (CHUNKS, STRUCTURE)
OF_ITEMS = (MEMORY, HISTORY, ENTITIES)

EMBEDDED = {table.items: table for table in (CHUNKS, *OF_ITEMS, STRUCTURE)}
