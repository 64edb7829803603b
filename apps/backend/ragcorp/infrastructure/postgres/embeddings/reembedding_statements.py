"""The SQL that computes vectors of another model and switches to it, for each kind of text."""

from ragcorp.infrastructure.postgres.models.embedding_models import BACKLOG_TABLES, VECTOR_TABLES, hnsw_index_name
from ragcorp.infrastructure.postgres.tables.embedded import OF_ITEMS

MAY_CHANGE = """
    SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class WHERE oid = 'chunk_embeddings'::regclass
"""

REGISTER = """
    INSERT INTO embedding_models (name, dimensions) VALUES (%(name)s, %(dimensions)s) ON CONFLICT DO NOTHING
"""

MODEL_ID = "SELECT id FROM embedding_models WHERE name = %(name)s AND dimensions = %(dimensions)s"

KEPT_OF_A_MODEL = (*VECTOR_TABLES, "workspace_means", "embedding_cache")
"""In the order of deletion: while one of them has rows, an interrupted deletion can resume."""

_IS_KEPT = (f"EXISTS (SELECT FROM {table} kept WHERE kept.model_id = m.id)" for table in KEPT_OF_A_MODEL)

MODELS = f"""
    SELECT id, name, dimensions, active FROM embedding_models m WHERE active OR {" OR ".join(_IS_KEPT)}
    ORDER BY name, dimensions
"""

ACTIVE = "SELECT name, dimensions FROM embedding_models WHERE active"

INDEXES = """
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

STORE = """
    WITH item AS (
        SELECT i.id, i.workspace, i.content_hash, %(model_id)s::smallint AS model_id FROM {items} i
        WHERE i.id = %(id)s AND i.content_hash = %(content_hash)s
        FOR KEY SHARE OF i){cached}
    INSERT INTO {embeddings} ({key}, model_id, workspace, embedding)
    SELECT id, model_id, workspace, %(embedding)s FROM item
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

LOCKED = (
    "documents",
    "chunks",
    "structured_documents",
    "structural_entities",
    *(table.items for table in OF_ITEMS),
    *BACKLOG_TABLES,
)
"""In the order in which writers lock them: contents, then backlogs."""

BEGIN_CHANGE = """
    SELECT set_config('lock_timeout', (setting::integer + 500)::text, true), set_config('statement_timeout', '0', true)
    FROM pg_settings WHERE name = 'deadlock_timeout'
"""
"""Above deadlock_timeout (ms): only after that wait does PostgreSQL cancel a blocking autovacuum."""

LOCK_MAINTENANCE = f"LOCK TABLE {', '.join(LOCKED)} IN SHARE UPDATE EXCLUSIVE MODE"
"""Waits for VACUUM, ANALYZE and index builds, then blocks them; readers and writers go on."""

LOWER_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', '500ms', true)"
"""Below deadlock_timeout: in a deadlock with a writer the switch times out first and retries."""

LOCK_WRITERS = f"LOCK TABLE {', '.join(LOCKED)} IN EXCLUSIVE MODE"
"""Readers go on. Statements of writers that waited take a new snapshot, and so see the new model."""

DONE = """
    DELETE FROM {backlog} b WHERE EXISTS (
        SELECT FROM {embeddings} e WHERE e.{key} = b.{key} AND e.model_id = %(model_id)s)
"""

LIST_MISSING = f"""
    INSERT INTO {{backlog}} AS b ({{backlog_columns}})
    SELECT {{backlog_values}} FROM {{items}} i WHERE {{wanted}} AND {LACKS_VECTOR}
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
