"""What an explained search says of words: nothing of documents that the caller may not read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.application.retrieval.sources.chunks import FullTextChunkSource
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.retrieval import ScoreType
from support.storage.postgres import open_database, repository_over
from support.storage.stored import written

pytestmark = pytest.mark.anyio

TEXTS = ("zapirote azul", "zapirota azul", "zapiroti", "Ver REQ-2024-001.", "Ver req2024001 azul", "molinero")
MISSPELT = ("zapirot", "zapirot azul", "molinro azul")
CODES = ("REQ 2024 001", "REQ-2024-001 azul", "2024-001", "req2024001")
EXACT = ("zapirote", "ZAPIROTA", "zapiroti molinero")
READERS = (
    Principal(subject="ana", groups=frozenset({"legal"}), clearance=Sensitivity.NORMAL),
    Principal(subject="ana", clearance=Sensitivity.PUBLIC),
    Principal(subject="beto", groups=frozenset({"legal", "ventas"}), clearance=Sensitivity.RESTRICTED),
)
ROOT = Principal(subject="root", groups=frozenset({"legal", "ana"}))

Policy = tuple[VisibilityScope, str, Sensitivity]
POLICIES = st.tuples(
    st.sampled_from(VisibilityScope), st.sampled_from(["ana", "beto", "legal"]), st.sampled_from(Sensitivity)
)


def may_read(reader: Principal, policy: Policy) -> bool:
    scope, owner, sensitivity = policy
    return sensitivity <= reader.clearance and (
        scope is VisibilityScope.WORKSPACE
        or (scope is VisibilityScope.GROUP and owner in reader.groups)
        or (scope is VisibilityScope.PRIVATE and owner == reader.subject)
    )


def words_of(*texts: str) -> set[str]:
    """Return the words, codes as one."""
    return {re.sub("[^a-z0-9]", "", word) for text in texts for word in text.lower().split()}


async def store(
    dsn: str, repository: DocumentRepository, texts: Mapping[str, Policy], workspace: str = "default"
) -> None:
    for number, (text, (scope, owner, sensitivity)) in enumerate(texts.items()):
        # each as one who may read it
        writer = Principal(workspace=workspace, subject=owner, groups=frozenset({owner}))
        await repository.save_many(
            [written(f"{number}", text, language="xx", visibility_scope=scope, owner=owner, sensitivity=sensitivity)],
            principal=writer,
        )
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("SELECT refresh_lexicon(%s, true)", (workspace,))


async def asked(repository: DocumentRepository, text: str, reader: Principal, *, explain: bool = True) -> SourceAnswer:
    source = FullTextChunkSource(repository=repository, scoring=repository)
    query = SourceQuery(text=text, principal=reader, filters=(), limit=10, explain=explain)
    return await source.retrieve(query)


def terms_of(answer: SourceAnswer) -> list[dict[str, Any]]:
    terms = answer.notes["terms"]
    assert isinstance(terms, Sequence)
    return [dict(term) for term in terms]


def without_statistics(answer: SourceAnswer) -> tuple[object, list[dict[str, Any]]]:
    """idf is the scores', which are over the whole workspace; to whom a part of it is hidden it is not told."""
    return answer.notes["chunks"], [{**term, "idf": None} for term in terms_of(answer)]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(policies=st.lists(POLICIES, min_size=len(TEXTS), max_size=len(TEXTS)), reader=st.sampled_from(READERS))
def test_what_is_hidden_might_as_well_not_be_there(
    dsn: str, owner_dsn: str, policies: list[Policy], reader: Principal
) -> None:
    async def run() -> None:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute("DELETE FROM documents")
        everything = dict(zip(TEXTS, policies, strict=True))
        readable = {text: policy for text, policy in everything.items() if may_read(reader, policy)}
        hidden = words_of(*(everything.keys() - readable.keys())) - words_of(*readable)
        elsewhere = replace(reader, workspace="other")
        async with open_database(dsn) as database:
            repository = await repository_over(database)
            await store(dsn, repository, everything)
            await store(dsn, repository, readable, "other")
            for query in (*MISSPELT, *CODES, *EXACT):
                answer = await asked(repository, query, reader)
                shown = words_of(*(f"{term['word']} {term['lexeme']} {term['typed']}" for term in terms_of(answer)))
                assert not (hidden - words_of(query)) & shown, query
                assert (answer.notes["average_length"] is None) is (len(readable) < len(everything))
                for term in terms_of(answer):
                    known = len(readable) == len(everything) and term["document_frequency"] > 0
                    assert (term["idf"] is not None) is known
                if query not in EXACT:
                    # a word that is typed as others wrote it is known, and looked for as such
                    assert without_statistics(answer) == without_statistics(
                        await asked(repository, query, elsewhere)
                    ), query

    asyncio.run(run())


async def test_counts_are_of_what_may_be_read_and_exact_where_all_may_be(dsn: str) -> None:
    hidden = (VisibilityScope.PRIVATE, "ana", Sensitivity.NORMAL)
    shown = (VisibilityScope.WORKSPACE, "ana", Sensitivity.NORMAL)
    ana, beto = Principal(subject="ana"), Principal(subject="beto")
    async with open_database(dsn) as database:
        repository = await repository_over(database)
        await store(dsn, repository, {"azul uno": hidden, "azul dos": shown, "rojo": shown, "secreto": hidden})
        every, some = await asked(repository, "azul secreto", ana), await asked(repository, "azul secreto", beto)
        assert (every.notes["chunks"], every.notes["counted_up_to"]) == (4, None)
        assert [(term["lexeme"], term["document_frequency"]) for term in terms_of(every)] == [
            ("azul", 2),
            ("secreto", 1),
        ]
        assert (some.notes["chunks"], some.notes["counted_up_to"]) == (2, 5_000)
        assert [(term["lexeme"], term["document_frequency"]) for term in terms_of(some)] == [
            ("azul", 1),
            ("secreto", 0),
        ]
        assert isinstance(terms_of(every)[0]["idf"], float)
        assert every.notes["average_length"] == (2 + 2 + 1 + 1) / 4
        assert [term["idf"] for term in terms_of(some)] == [None, None]
        assert some.notes["average_length"] is None
        for answer, told in ((every, True), (some, False)):
            assert answer.scorer is not None
            chunk_ids = [str(hit.chunk_id) for hit in answer.ranked_list.hits]
            evidence = await answer.scorer.evidence(chunk_ids, score_type=ScoreType.BM25)
            matches = [match for item in evidence.values() for match in item.matches]
            assert len(matches) == len(chunk_ids)
            assert all((match.idf is not None) is told for match in matches)
        assert (await asked(repository, "azul", beto, explain=False)).notes == {}
        nowhere = await asked(repository, "azul", replace(beto, workspace="empty"))
        assert (nowhere.notes["chunks"], nowhere.notes["counted_up_to"]) == (0, None)
        assert (await asked(repository, "de la", beto)).notes["terms"] == []


async def test_a_misspelt_word_finds_the_nearest_that_may_be_read(dsn: str) -> None:
    """``zapirote`` is nearer to what is typed, but only others know it."""
    hidden = (VisibilityScope.PRIVATE, "ana", Sensitivity.NORMAL)
    shown = (VisibilityScope.WORKSPACE, "ana", Sensitivity.NORMAL)
    ana, beto = Principal(subject="ana"), Principal(subject="beto")
    async with open_database(dsn) as database:
        repository = await repository_over(database)
        await store(dsn, repository, {"zapirote": hidden, "zapirotes": shown, "molinero": hidden})
        (existing,) = terms_of(await asked(repository, "zapirotte", ana))
        assert (existing["lexeme"], existing["document_frequency"]) == ("zapirote", 1)
        answer = await asked(repository, "zapirotte", beto)
        (term,) = terms_of(answer)
        assert (term["lexeme"], term["document_frequency"]) == ("zapirotes", 1)
        assert len(answer.ranked_list) == 1
        for query in ("molinro", "mollinero", "molinerro"):
            answer = await asked(repository, query, beto)
            (unknown,) = terms_of(answer)
            assert unknown == {
                "word": query,
                "lexeme": query,
                "kind": "word",
                "document_frequency": 0,
                "idf": None,
                "typed": None,
                "similarity": 1.0,
            }
            assert len(answer.ranked_list) == 0
