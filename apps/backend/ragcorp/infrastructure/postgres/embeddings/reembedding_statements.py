"""The SQL that makes and changes over to the vectors of another model, for each kind of text that has vectors."""

from __future__ import annotations

from dataclasses import dataclass

from ragcorp.infrastructure.postgres.embeddings.chunk_backlog import LOCK_DOCUMENTS
from ragcorp.infrastructure.postgres.embeddings.item_backlog import LOCK_ITEMS
from ragcorp.infrastructure.postgres.embeddings.structure_vectors import LOCK_DOCUMENTS as LOCK_DOCUMENTS_OF_ENTITIES
from ragcorp.infrastructure.postgres.items.rows import WITH_VECTORS
from ragcorp.infrastructure.postgres.models.embedding_models import BACKLOG_TABLES, VECTOR_TABLES, hnsw_index_name


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedTable:
    """Rows (i) of ``items`` with a text, its vectors by ``key`` and those that wait for one.

    ``text`` are three columns: title, heading path, content. ``lock`` comes first in every write of several vectors;
    ``cached``: their vectors are kept when they go.
    """

    items: str
    embeddings: str
    backlog: str
    text: str
    lock: str
    key: str = "item_id"
    wanted: str = "true"
    waits_as: str = "item_id, workspace"
    waiting: str = "i.id, i.workspace"
    cached: bool = False

    def sql(self, statement: str) -> str:
        """Return one of this file's statements for this table."""
        return statement.format(
            items=self.items,
            embeddings=self.embeddings,
            backlog=self.backlog,
            text=self.text,
            key=self.key,
            wanted=self.wanted,
            waits_as=self.waits_as,
            waiting=self.waiting,
            cached=CACHED if self.cached else "",
        )


CHUNKS = EmbeddedTable(
    items="chunks",
    embeddings="chunk_embeddings",
    backlog="embedding_backlog",
    text="i.title, i.heading_path, i.content",
    lock=LOCK_DOCUMENTS.replace("%(chunk_ids)s", "%(ids)s"),
    key="chunk_id",
    waits_as="chunk_id, document_id, workspace",
    waiting="i.id, i.document_id, i.workspace",
    cached=True,
)
STRUCTURE = EmbeddedTable(
    items="structural_entities",
    embeddings="structural_entity_embeddings",
    backlog="structural_entity_backlog",
    text="'', '{}'::text[], i.index_text",
    lock=LOCK_DOCUMENTS_OF_ENTITIES,
    wanted="i.index_text IS NOT NULL",
    cached=True,
)
EMBEDDED = {
    table.items: table
    for table in (
        CHUNKS,
        *(
            EmbeddedTable(
                items=tables.items,
                embeddings=tables.embeddings,
                backlog=tables.backlog,
                text=f"'', '{{}}'::text[], {tables.index_text}",
                lock=LOCK_ITEMS.format(items=tables.items),
            )
            for tables in WITH_VECTORS
        ),
        STRUCTURE,
    )
}

MAY_CHANGE = """
    SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'chunk_embeddings'::regclass
"""

REGISTER = """
    INSERT INTO embedding_models (name, dimensions) VALUES (%(name)s, %(dimensions)s) ON CONFLICT DO NOTHING
"""

MODEL_ID = "SELECT id FROM embedding_models WHERE name = %(name)s AND dimensions = %(dimensions)s"

KEPT_OF_A_MODEL = (*VECTOR_TABLES, "workspace_means", "embedding_cache")
"""In the order in which they are emptied: as long as one has rows, a removal that was cut can be taken up again."""

_IS_KEPT = (f"EXISTS (SELECT FROM {table} kept WHERE kept.model_id = m.id)" for table in KEPT_OF_A_MODEL)

MODELS = f"""
    SELECT id, name, dimensions, active FROM embedding_models m WHERE active OR {" OR ".join(_IS_KEPT)}
    ORDER BY name, dimensions
"""

ACTIVE = "SELECT name, dimensions FROM embedding_models WHERE active"

STANDING_INDEXES = """
    SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname = ANY(%(names)s) AND pg_table_is_visible(c.oid)
"""

LACKS_VECTOR = """
    NOT EXISTS (SELECT FROM {embeddings} e WHERE e.{key} = i.id AND e.model_id = %(model_id)s)
"""

COUNT = f"""
    SELECT count(*), count(*) FILTER (WHERE {LACKS_VECTOR}) FROM {{items}} i WHERE {{wanted}}
"""

MISSING = f"""
    SELECT i.id, i.workspace, {{text}}, i.content_hash FROM {{items}} i
    WHERE i.id > %(after)s AND {{wanted}} AND {LACKS_VECTOR}
    ORDER BY i.id
    LIMIT %(limit)s
"""

CACHED = """,
    cached AS (
        INSERT INTO embedding_cache (workspace, content_hash, model_id, embedding)
        SELECT workspace, content_hash, %(model_id)s, %(embedding)s FROM item
        ON CONFLICT DO NOTHING)
"""

STORE = """
    WITH item AS (
        SELECT i.id, i.workspace, i.content_hash FROM {items} i
        WHERE i.id = %(id)s AND i.content_hash = %(content_hash)s
        FOR KEY SHARE OF i){cached}
    INSERT INTO {embeddings} ({key}, model_id, workspace, embedding)
    SELECT id, %(model_id)s, workspace, %(embedding)s FROM item
    ON CONFLICT DO NOTHING
"""

DOCUMENTS = """
    SELECT id FROM documents d
    WHERE id > %(after)s AND chunk_count > 0 AND (
        %(since)s::timestamptz IS NULL OR updated_at >= %(since)s OR NOT EXISTS (
            SELECT FROM document_embeddings e WHERE e.document_id = d.id AND e.model_id = %(model_id)s))
    ORDER BY id
    LIMIT %(limit)s
"""

LOCK_THESE_DOCUMENTS = """
    SELECT id FROM documents WHERE id = ANY(%(document_ids)s) ORDER BY workspace, external_id FOR NO KEY UPDATE
"""

NOW = "SELECT clock_timestamp()"

WORKSPACES = "SELECT DISTINCT workspace FROM chunk_embeddings WHERE model_id = %(model_id)s"

STORE_MEAN = """
    INSERT INTO workspace_means (workspace, model_id, chunks, mean_vector)
    SELECT %(workspace)s, %(model_id)s, count(*), avg(embedding)
    FROM chunk_embeddings WHERE model_id = %(model_id)s AND workspace = %(workspace)s
    HAVING count(*) > 0
    ON CONFLICT (workspace, model_id) DO UPDATE SET chunks = excluded.chunks, mean_vector = excluded.mean_vector
"""

LOCKED = (
    "documents",
    "chunks",
    "structured_documents",
    "structural_entities",
    *(tables.items for tables in WITH_VECTORS),
    *BACKLOG_TABLES,
)
"""In the order in which writers come by them: contents, then what waits."""

BEGIN_CHANGE = """
    SELECT set_config('lock_timeout', (setting::integer + 500)::text, true), set_config('statement_timeout', '0', true)
    FROM pg_settings WHERE name = 'deadlock_timeout'
"""
"""Above deadlock_timeout (ms): only who has waited for so long has an autovacuum cancelled."""

LOCK_MAINTENANCE = f"LOCK TABLE {', '.join(LOCKED)} IN SHARE UPDATE EXCLUSIVE MODE"
"""Waits for VACUUM, ANALYZE and builds of indexes, and then keeps them out; nobody who reads or writes waits for it."""

GIVE_WAY = "SELECT set_config('lock_timeout', '500ms', true)"
"""Below deadlock_timeout: where the change meets a writer head-on, it is the change that gives way and tries again."""

LOCK_WRITERS = f"LOCK TABLE {', '.join(LOCKED)} IN EXCLUSIVE MODE"
"""Lets every reader through. Statements of writers that waited here see, by their own snapshot, the new model."""

DONE = """
    DELETE FROM {backlog} b WHERE EXISTS (
        SELECT FROM {embeddings} e WHERE e.{key} = b.{key} AND e.model_id = %(model_id)s)
"""

LIST_MISSING = f"""
    INSERT INTO {{backlog}} AS b ({{waits_as}})
    SELECT {{waiting}} FROM {{items}} i WHERE {{wanted}} AND {LACKS_VECTOR}
    ON CONFLICT ({{key}}) DO UPDATE SET failed = false, attempts = 0, reason = NULL, available_at = clock_timestamp()
"""

LIST_REJECTED = """
    UPDATE {backlog} b SET failed = true, attempts = 1, reason = 'rejected'
    FROM unnest(%(ids)s::bigint[], %(hashes)s::bytea[]) AS refused (id, content_hash), {items} i
    WHERE b.{key} = refused.id AND i.id = refused.id AND i.content_hash = refused.content_hash
"""

DEACTIVATE = "UPDATE embedding_models SET active = false WHERE active"
ACTIVATE = "UPDATE embedding_models SET active = true WHERE id = %(model_id)s"

DELETE_SOME = """
    DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} WHERE model_id = %(model_id)s LIMIT %(limit)s)
"""


def index_names(model_id: int) -> dict[str, str]:
    """Return the names of a model's HNSW indexes by table."""
    return {table: hnsw_index_name(table, model_id) for table in VECTOR_TABLES}
