"""BM25 of the collections against the formula in Python, over random texts, readers and filters."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.collections import Collection
from ragcorp.domain.principal import Principal, Sensitivity
from support.memory.collections import WITH_CHANNELS, channels_over
from support.storage.postgres import open_database
from support.storage.stored import where

WORDS = ["lima", "luna", "mesa", "pera", "roca", "sopa", "tela", "vela"]
"""In a language that no stemmer knows, each is its own lexeme."""

PLAIN = "xx"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    words: tuple[str, ...]
    sensitivity: int
    kind: str


TEXTS = st.lists(
    st.builds(
        Text,
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=20).map(tuple),
        sensitivity=st.sampled_from([1, 1, 3]),
        kind=st.sampled_from(["fact", "person"]),
    ),
    max_size=12,
)


def oracle(texts: Sequence[Text], query: Sequence[str], *, clearance: int, kind: str | None) -> list[tuple[int, float]]:
    """Return (place of a text, score): N and avgdl of what may be read, df of what also passes the filter; tf to 15."""
    readable = {n: Counter(text.words) for n, text in enumerate(texts) if text.sensitivity <= clearance}
    passing = {n: held for n, held in readable.items() if kind is None or texts[n].kind == kind}
    if not readable:
        return []
    average = sum(held.total() for held in readable.values()) / len(readable)
    scores = {}
    for n, held in passing.items():
        gains = []
        for word in dict.fromkeys(query):
            if word in held:
                df = sum(word in other for other in passing.values())
                idf = math.log(1 + (len(readable) - df + 0.5) / (df + 0.5))
                tf = min(15, held[word])
                gains.append(idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * held.total() / average)))
        if gains:
            scores[n] = math.fsum(gains)
    return sorted(scores.items(), key=lambda scored: (-round(scored[1], 9), scored[0]))


INSERT = {Collection.MEMORY: "memory_items", Collection.HISTORY: "history_turns"}


def store(
    connection: psycopg.Connection[tuple[object, ...]], collection: Collection, texts: Sequence[Text]
) -> list[str]:
    """Store the texts anew and return their keys."""
    if collection is Collection.ARTIFACTS:
        connection.execute("DELETE FROM documents")
        keys = [f"00000000-0000-0000-0000-{n:012}" for n in range(len(texts))]
        for key, text in zip(keys, texts, strict=True):
            columns = (text.kind, text.sensitivity)
            connection.execute(
                "INSERT INTO documents (id, workspace, external_id, text, content_hash, chunker, chunk_count,"
                " media_type, filename, size_bytes, language, artifact_type, sensitivity)"
                " VALUES (%s, 'default', %s, '', '', '', 2, '', '', 0, %s, %s, %s)",
                (key, key, PLAIN, *columns),
            )
            half = len(text.words) // 2
            for index, words in enumerate((text.words[:half], text.words[half:])):
                connection.execute(
                    "INSERT INTO chunks (document_id, workspace, chunk_index, content, language, artifact_type,"
                    " sensitivity, line_start, line_end, token_count, content_hash)"
                    " VALUES (%s, 'default', %s, %s, %s, %s, %s, 1, 1, 1, '')",
                    (key, index, " ".join(words), PLAIN, *columns),
                )
        return keys
    table = INSERT[collection]
    connection.execute(f"DELETE FROM {table}")
    return [
        str(
            connection.execute(
                f"INSERT INTO {table}"
                " (workspace, external_id, text, language, artifact_type, sensitivity, content_hash)"
                " VALUES ('default', %s, %s, %s, %s, %s, '') RETURNING id",
                (str(n), " ".join(text.words), PLAIN, text.kind, text.sensitivity),
            ).fetchone()[0]  # type: ignore[index]
        )
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize("collection", WITH_CHANNELS)
@pytest.mark.hypothesis
def test_scores_and_order_are_those_of_the_formula(dsn: str, owner_dsn: str, collection: Collection) -> None:
    async def run() -> None:
        async with open_database(dsn) as database:
            channels = await channels_over(database, collection, default_language=PLAIN)
            loop = asyncio.get_running_loop()

            def check(texts: list[Text], query: list[str], clearance: Sensitivity, kind: str | None) -> None:
                with psycopg.connect(owner_dsn, autocommit=True) as connection:
                    keys = store(connection, collection, texts)
                expected = oracle(texts, query, clearance=int(clearance), kind=kind)
                for limit in (2, 20):
                    asked = channels.matching(
                        " ".join(query),
                        principal=Principal(clearance=clearance),
                        filters=where(artifact_type=kind) if kind else (),
                        limit=limit,
                    )
                    ranked, cut = asyncio.run_coroutine_threadsafe(asked, loop).result(20)
                    assert not cut
                    assert [hit.item_id for hit in ranked] == [keys[n] for n, _ in expected[:limit]]
                    assert [hit.score for hit in ranked] == pytest.approx(
                        [score for _, score in expected[:limit]], abs=2e-9
                    )

            fuzz = settings(suppress_health_check=list(HealthCheck))(
                given(
                    TEXTS,
                    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
                    st.sampled_from([Sensitivity.NORMAL, Sensitivity.RESTRICTED]),
                    st.sampled_from([None, "fact", "person"]),
                )(check)
            )
            await asyncio.to_thread(fuzz)

    asyncio.run(run())
