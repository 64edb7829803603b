"""Two workspaces that hold rows of the same names in every table."""

from __future__ import annotations

import psycopg

from ragcorp.domain.collections import Collection
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.graph.repository import PostgresGraphRepository
from ragcorp.infrastructure.postgres.items.repository import PostgresItemRepository
from ragcorp.infrastructure.postgres.workspaces.search_statistics import PostgresSparseStatistics
from support.graph.facts import said
from support.memory.collections import drafted
from support.storage.postgres import repository_over
from support.storage.stored import EAST, written
from support.structure.entities import code

OURS, THEIRS = Principal(workspace="ours"), Principal(workspace="theirs")

UPKEEP = """
    INSERT INTO chunk_embeddings (chunk_id, model_id, workspace, embedding)
        SELECT c.id, m.id, c.workspace, %(vector)s::vector FROM chunks c, embedding_models m WHERE m.active;
    INSERT INTO document_embeddings (document_id, model_id, workspace, embedding)
        SELECT d.id, m.id, d.workspace, %(vector)s::vector FROM documents d, embedding_models m WHERE m.active;
    INSERT INTO embedding_cache (workspace, content_hash, model_id, embedding)
        SELECT DISTINCT c.workspace, c.content_hash, m.id, %(vector)s::vector
        FROM chunks c, embedding_models m WHERE m.active;
    INSERT INTO memory_embeddings (item_id, model_id, workspace, embedding)
        SELECT i.id, m.id, i.workspace, %(vector)s::vector FROM memory_items i, embedding_models m WHERE m.active;
    INSERT INTO history_embeddings (item_id, model_id, workspace, embedding)
        SELECT i.id, m.id, i.workspace, %(vector)s::vector FROM history_turns i, embedding_models m WHERE m.active;
    INSERT INTO entity_embeddings (item_id, model_id, workspace, embedding)
        SELECT i.id, m.id, i.workspace, %(vector)s::vector FROM entities i, embedding_models m WHERE m.active;
    INSERT INTO structural_entity_embeddings (item_id, model_id, workspace, embedding)
        SELECT i.id, m.id, i.workspace, %(vector)s::vector FROM structural_entities i, embedding_models m
        WHERE m.active;
    INSERT INTO bm25_statistics (workspace_id, key, levels)
        SELECT id, 16, array_fill(1, ARRAY[10]) FROM bm25_workspaces;
    INSERT INTO bm25_changes (workspace_id, changed, chunks, total_length) SELECT id, 1, 1, 1 FROM bm25_workspaces;
    INSERT INTO default_languages (workspace, language) SELECT workspace, 'es' FROM bm25_workspaces;
    INSERT INTO workspace_means (workspace, model_id, chunks, mean_vector)
        SELECT w.workspace, m.id, 1, %(vector)s::vector FROM bm25_workspaces w, embedding_models m WHERE m.active;
    INSERT INTO folder_files (workspace, folder, external_id, relative, content_hashes, size, mtime_ns, ctime_ns,
                              settled, described)
        SELECT workspace, '\\x00', 'a.md', 'a.md', ARRAY['\\x00'::bytea], 1, 1, 1, true, '\\x00' FROM bm25_workspaces;
    INSERT INTO fact_extractions (workspace, content_hash, model, prompt_version, answer)
        SELECT workspace, '\\x00', 'm', 1, '[]' FROM bm25_workspaces;
    INSERT INTO extracted_chunks (chunk_id, workspace, model, prompt_version) SELECT id, workspace, 'm', 1 FROM chunks;
    INSERT INTO episodes (workspace, subject, episode_id, turns)
        SELECT workspace, 'local', 'e', 1 FROM bm25_workspaces;
    INSERT INTO hydration_turns (episode, turn, query, budget) SELECT id, 1, 'secreto', '{}' FROM episodes;
    INSERT INTO hydrated_entities (turn_id, number, document_id, entity_key, kind, artifact_hash, reasons, priority,
                                   tokens)
        SELECT t.id, 1, d.id, 'k', 'symbol', '\\x00', '{}', 1, 1
        FROM hydration_turns t JOIN episodes e ON e.id = t.episode JOIN LATERAL (
            SELECT id FROM documents WHERE workspace = e.workspace LIMIT 1) d ON true;
    INSERT INTO api_keys (id, workspace, name, subject, clearance, scopes, digest)
        SELECT 'key-' || id, workspace, 'n', 's', 1, '{search}', '\\x00' FROM bm25_workspaces;
    INSERT INTO token_usage (workspace, key_id, day, tokens) SELECT workspace, id, current_date, 1 FROM api_keys;
    INSERT INTO scanned_pages (document_id, page, workspace, source_hash)
        SELECT id, 1, workspace, content_hash FROM documents
"""


async def fill_two_workspaces(database: Database, dsn: str) -> None:
    """``dsn`` opens sessions that see every workspace."""
    for principal in (OURS, THEIRS):
        documents = await repository_over(database)
        await documents.save_many(
            [
                written("plazo.md", f"El plazo secreto de {principal.workspace} vence en marzo."),
                code("auth.py", "login"),
            ],
            principal=principal,
        )
        for collection in (Collection.MEMORY, Collection.HISTORY):
            items = PostgresItemRepository(database=database, collection=collection)
            await items.save_many([drafted("m", f"Lo secreto de {principal.workspace}")], principal=principal)
        graph = PostgresGraphRepository(database=database)
        await graph.save_facts([said("Ana", "dirige", "Acme", external_id="f")], principal=principal)
        await PostgresSparseStatistics(database=database).refresh(principal.workspace)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT refresh_lexicon('ours', true), refresh_lexicon('theirs', true)")
        for statement in UPKEEP.split(";\n"):
            connection.execute(statement.encode(), {"vector": str(list(EAST))} if "%(vector)s" in statement else None)
