"""The port ChunkScoring over PostgreSQL."""

from collections.abc import Sequence

from pgvector import Vector as PgVector
from psycopg.rows import TupleRow

from ragcorp.domain.embeddings import Vector
from ragcorp.domain.ports.storage import LexemeCounts, VisibleFrequencies
from ragcorp.domain.principal import Principal
from ragcorp.infrastructure.postgres.chunks.rows import database_ids
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.dense import similarity_scores
from ragcorp.infrastructure.postgres.lexical import bm25, full_text, readable_words
from ragcorp.infrastructure.postgres.models.registry import ActiveModel
from ragcorp.infrastructure.postgres.visibility.predicates import visibility

MAX_TF = 15
"""The largest tf of a posting; it means 15 or more."""


class PostgresChunkScoring:
    """Scores any chunks for a query. Each call is one statement; ``count_lexemes`` takes another for frequent words."""

    def __init__(self, database: Database, *, model: ActiveModel | None) -> None:
        self._database = database
        self._model = model

    async def admitted_chunks(self, query: str, chunk_ids: Sequence[str], *, principal: Principal) -> frozenset[str]:
        visible = visibility(principal)
        values = visible.values | {"query": query, "ids": database_ids(chunk_ids)}
        rows = await self._database.fetch(
            full_text.admitted(visible=visible.sql), values, workspace=principal.workspace
        )
        return frozenset(str(row[0]) for row in rows)

    async def half_centred_similarities(
        self, embedding: Vector, chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, float]:
        if self._model is None:
            return {}
        visible = visibility(principal)
        statement = similarity_scores.half_centred(
            model_id=self._model.id, dimensions=self._model.dimensions, visible=visible.sql
        )
        values = visible.values | {"ids": database_ids(chunk_ids), "embedding": PgVector(list(embedding))}
        rows = await self._database.fetch(statement, values, workspace=principal.workspace)
        return {str(row[0]): row[1] for row in rows}

    async def count_lexemes(
        self, lexemes: Sequence[str], chunk_ids: Sequence[str], *, principal: Principal
    ) -> dict[str, LexemeCounts]:
        visible = visibility(principal)
        statement = full_text.lexeme_counts(visible=visible.sql)
        values = visible.values | {"lexemes": list(lexemes), "ids": database_ids(chunk_ids)}

        async def work() -> dict[str, LexemeCounts]:
            async with self._database.autocommit(principal.workspace) as connection:
                cursor = await connection.execute(statement, values, prepare=True, binary=True)
                rows = await cursor.fetchall()
                frequent = [row[0] for row in rows if any(posting & MAX_TF == MAX_TF for posting in row[2])]
                exact: list[TupleRow] = []
                if frequent:
                    cursor = await connection.execute(bm25.EVIDENCE, values | {"ids": frequent})
                    exact = await cursor.fetchall()
            counted = {str(row[0]): _counts(row, lexemes) for row in rows}
            return counted | {
                str(row[0]): LexemeCounts(length=row[1], counts=dict(zip(lexemes, row[2], strict=True)))
                for row in exact
            }

        return await self._database.read(work)

    async def visible_frequencies(self, lexemes: Sequence[str], *, principal: Principal) -> VisibleFrequencies:
        visible, visible_document = visibility(principal), visibility(principal, alias="d")
        most = max(readable_words.FEWEST_CHUNKS, readable_words.MOST_CHUNKS // max(1, len(lexemes)))
        rows = await self._database.fetch(
            readable_words.visible_frequencies(visible=visible.sql, documents_visible=visible_document.sql),
            visible.values | {"lexemes": list(lexemes), "most": most},
            workspace=principal.workspace,
            settings=bm25.SETTINGS,
        )
        chunks, everything = rows[0][:2]
        return VisibleFrequencies(
            chunks=int(chunks),
            everything=everything,
            frequencies={lexeme: count for _, _, lexeme, count in rows if lexeme is not None},
            counted_up_to=most,
        )


def _counts(row: TupleRow, lexemes: Sequence[str]) -> LexemeCounts:
    _, length, postings, keys = row
    tf_of = {posting & ~MAX_TF: posting & MAX_TF for posting in postings}
    return LexemeCounts(
        length=length, counts={lexeme: tf_of[key] for lexeme, key in zip(lexemes, keys, strict=True) if key in tf_of}
    )
