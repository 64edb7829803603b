"""Misspelt words over the evaluation sets: how often the word that was meant is found."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from support.retrieval.lexicon import store, terms


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    """As the application, which owns nothing."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


def load(connection: Connection[TupleRow], owner_dsn: str, folder: Path, workspace: str) -> None:
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    store(connection, *(f"{d.get('title', '')}. {d['text']}" for d in documents), workspace=workspace)
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute("ANALYZE")


def test_misspelt_queries_of_the_evaluation_set_are_read_as_meant(
    connection: Connection[TupleRow], owner_dsn: str, eval_dir: Path
) -> None:
    load(connection, owner_dsn, eval_dir / "corp-es", "corp")
    lines = (eval_dir / "corp-es" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    replaced = {}
    for query in map(json.loads, lines):
        if query["kind"] in ("misspelt", "question", "proper_name", "acronym"):
            for term in terms(connection, query["text"], workspace="corp"):
                if term.typed:
                    replaced[term.word] = term.lexeme
    expected = {
        "vacasiones": "vacacion", "certificdo": "certific", "ferreira": "ferreyr", "confidencialdad": "confidencial",
        "resicion": "rescision", "teletravajo": "teletrabaj", "causion": "caucion", "malagueno": "malagueñ",
        "nimbuz": "nimbus", "ceivalia": "ceibali", "gananzias": "gananci",
    }  # fmt: skip
    assert {word: replaced.get(word) for word in expected} == expected


def mistyped(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word) - 1)
    letter = rng.choice("abcdefghijklmnopqrstuvwxyz")
    return rng.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + letter + word[at + 1 :],
            word[:at] + letter + word[at:],
        )
    )


def test_random_mistakes_are_mostly_mended_and_seldom_for_the_worse(
    connection: Connection[TupleRow], owner_dsn: str, eval_dir: Path
) -> None:
    load(connection, owner_dsn, eval_dir / "xquad-es", "xquad")
    meant = dict(
        connection.execute("SELECT word, lexeme FROM lexicon WHERE length(word) >= 5 ORDER BY word").fetchall()
    )
    rng = random.Random(7)
    outcomes: Counter[str] = Counter()
    while outcomes.total() < 300:
        word = rng.choice(list(meant))
        typed = mistyped(word, rng)
        results = terms(connection, typed, workspace="xquad")
        if not results or (results[0].frequency and not results[0].typed):
            continue
        replacement = results[0].lexeme if results[0].typed else None
        outcomes["none" if replacement is None else "right" if replacement == meant[word] else "wrong"] += 1
    assert outcomes["right"] >= 255, outcomes
    assert outcomes["wrong"] <= 18, outcomes
