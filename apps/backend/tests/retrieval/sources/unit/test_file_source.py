"""The source over files, with a search that is told what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragcorp.application.files.keyword_extraction import MAX_KEYWORDS
from ragcorp.application.retrieval.sources.files import FileGrepSource
from ragcorp.domain.exceptions import FileAccessDeniedError, SourceUnavailableError, StorageUnavailableError
from ragcorp.domain.files.values import (
    MAX_PASSAGES,
    ChunkPlace,
    FileAccess,
    GrepCase,
    GrepMode,
    GrepPassage,
    GrepRequest,
    GrepResult,
    Mark,
)
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.sources import SourceQuery
from ragcorp.domain.principal import Principal, Sensitivity
from support.storage.stored import ANYONE, keys, where

pytestmark = pytest.mark.anyio

QUESTION = "¿Dónde se calcula el IVA en calcular_total?"


def passage(
    path: str, *, line: int = 3, score: float = 1.0, chunk: str | None = None, marked: Sequence[int] = ()
) -> GrepPassage:
    return GrepPassage(
        path=path,
        line_start=line,
        line_end=line + 4,
        text="",
        marks=tuple(Mark(line=item, start=0, end=1, term=0) for item in (marked or (line,))),
        terms=("x",),
        score=score,
        chunk=None if chunk is None else ChunkPlace(chunk_id=chunk, document_id="d", chunk_index=0),
    )


def found(*passages: GrepPassage, **fields: Any) -> GrepResult:
    return GrepResult(**({"passages": passages, "terms": (), "files": 1, "matched_lines": 1, "searched": 1} | fields))


class ScriptedGrep:
    def __init__(self, result: GrepResult | None = None, *, error: Exception | None = None) -> None:
        self.result, self.error = result or found(), error
        self.requests: list[tuple[GrepRequest, Principal, Filters]] = []

    async def grep(self, request: GrepRequest, *, principal: Principal, filters: Filters = ()) -> GrepResult:
        self.requests.append((request, principal, filters))
        if self.error is not None:
            raise self.error
        return replace(self.result, passages=self.result.passages[: request.max_passages])


class ScriptedFrequencies:
    def __init__(self, frequencies: Mapping[str, int] | None = None, *, error: Exception | None = None) -> None:
        self.frequencies, self.error = frequencies or {}, error
        self.texts: list[str] = []

    async def document_frequencies(self, text: str, *, principal: Principal) -> Mapping[str, int]:
        del principal
        self.texts.append(text)
        if self.error is not None:
            raise self.error
        return self.frequencies

    async def count_chunks(self, *, principal: Principal) -> int:
        raise NotImplementedError


def source_over(
    grep: ScriptedGrep, frequencies: ScriptedFrequencies | None = None, access: FileAccess | None = None
) -> FileGrepSource:
    return FileGrepSource(files=grep, frequencies=frequencies or ScriptedFrequencies(), access=access or FileAccess())


def asked(text: str = QUESTION, *, limit: int = 10, **fields: Any) -> SourceQuery:
    return SourceQuery(**({"text": text, "principal": ANYONE, "filters": (), "limit": limit} | fields))


async def terms_of(query: SourceQuery, frequencies: ScriptedFrequencies | None = None) -> tuple[str, ...]:
    grep = ScriptedGrep()
    await source_over(grep, frequencies).retrieve(query)
    ((request, _, _),) = grep.requests
    return request.terms


async def test_the_terms_of_the_question_are_looked_for_any_of_them_in_any_case() -> None:
    grep = ScriptedGrep()
    answer = await source_over(grep).retrieve(asked())
    ((request, principal, filters),) = grep.requests
    assert request.terms == ("IVA", "calcular_total", "calcula")
    assert (request.mode, request.case, request.max_passages) == (GrepMode.LITERAL, GrepCase.INSENSITIVE, 10)
    assert request.max_characters is None
    assert (principal, filters) == (ANYONE, ())
    assert answer.notes == {"keywords": ["IVA", "calcular_total", "calcula"]}


async def test_what_the_caller_would_look_for_is_taken_as_it_is() -> None:
    assert await terms_of(asked(keywords="def calcular_total")) == ("def calcular_total", "def", "calcular_total")


@pytest.mark.parametrize("given", [None, "", "  \u200b", QUESTION, "  ¿dónde se CALCULA  el iva en calcular_total? "])
async def test_without_keywords_of_their_own_they_come_from_the_question(given: str | None) -> None:
    """WHEN exact_keywords is missing, empty or identical to semantic_query THEN terms are extracted."""
    assert await terms_of(asked(keywords=given)) == ("IVA", "calcular_total", "calcula")


@pytest.mark.parametrize("text", ["¿qué es esto?", "hola", "😀", "x" * 2000, "dime"])
async def test_a_question_without_terms_finds_nothing_and_nothing_is_wrong(text: str) -> None:
    grep = ScriptedGrep(found(passage("docs/a.md")))
    answer = await source_over(grep).retrieve(asked(text))
    assert (answer.ranked_list.hits, answer.incomplete, answer.cut) == ((), None, False)
    assert grep.requests == []


async def test_of_too_many_keywords_the_foremost_are_looked_for_and_the_others_are_said() -> None:
    words = [f"palabra{letter}{other}" for letter in "abcdef" for other in "abcdef"]
    grep, frequencies = ScriptedGrep(), ScriptedFrequencies({"palabraff": 3})
    answer = await source_over(grep, frequencies).retrieve(asked(keywords=" ".join([*words, "SOLO-GREP-42"])))
    ((request, _, _),) = grep.requests
    assert request.terms == (" ".join([*words, "SOLO-GREP-42"]), *words[:21], "palabraff", "SOLO-GREP-42")
    assert answer.notes == {"keywords": list(request.terms), "keywords_left_out": words[21:-1]}
    assert len(frequencies.texts) == 1


async def test_a_root_that_is_gone_makes_the_answer_incomplete() -> None:
    grep = ScriptedGrep(found(passage("docs/a.md"), unavailable=("other",)))
    answer = await source_over(grep).retrieve(asked())
    assert (len(answer.ranked_list.hits), answer.incomplete) == (1, "root_unavailable")


async def test_passages_are_hits_in_their_order_with_their_lines() -> None:
    grep = ScriptedGrep(
        found(
            passage("docs/a.md", line=3, score=2.4, marked=(5, 4, 5)),
            passage("docs/b.md", line=1, score=1.5, chunk="77"),
        )
    )
    ranked = (await source_over(grep).retrieve(asked())).ranked_list
    assert (ranked.source, ranked.score_type) == ("grep", "grep")
    assert keys(ranked.hits) == [("docs/a.md#L3-L7", "files", 0), ("77", "", 0)]
    assert [hit.score for hit in ranked.hits] == [2.4, 1.5]
    assert [hit.metadata["matched_lines"] for hit in ranked.hits] == [(4, 5), (1,)]


async def test_a_hit_says_its_share_of_the_evidence_of_a_question() -> None:
    """Scores are terms + half the share of rarity; of four terms three were found: 2 * .5 * 3/4, 2 * .2 * 3/4."""
    passages = (
        replace(passage("a", score=2.5), terms=("IVA", "calcular_total")),
        replace(passage("b", score=1.2), terms=("calcula",)),
    )
    grep = ScriptedGrep(found(*passages, terms=("IVA", "calcular_total", "calcula", "zapirote")))
    hits = (await source_over(grep).retrieve(asked())).ranked_list.hits
    assert [hit.evidence for hit in hits] == pytest.approx([0.75, 0.3])
    given = (await source_over(grep).retrieve(asked(keywords="calcular_total"))).ranked_list.hits
    assert [hit.evidence for hit in given] == [None, None]


async def test_of_two_passages_of_one_chunk_the_better_stays() -> None:
    grep = ScriptedGrep(found(passage("a", score=2.0, chunk="7"), passage("a", line=40, score=1.0, chunk="7")))
    (hit,) = (await source_over(grep).retrieve(asked())).ranked_list.hits
    assert hit.score == 2.0


async def test_the_limit_bounds_the_hits() -> None:
    grep = ScriptedGrep(found(*(passage(f"docs/{number:03}.md") for number in range(300))))
    source = source_over(grep)
    assert len((await source.retrieve(asked(limit=4))).ranked_list) == 4
    assert len((await source.retrieve(asked(limit=1000))).ranked_list) == MAX_PASSAGES
    assert [request.max_passages for request, _, _ in grep.requests] == [4, MAX_PASSAGES]


async def test_files_pass_the_filters_by_what_all_files_are_and_chunks_by_what_is_stored() -> None:
    passages = (passage("docs/a.md"), passage("docs/b.md", chunk="7"))
    for filters, shown in (
        ({"language": "es"}, ["docs/a.md#L3-L7", "7"]),
        ({"language": "en"}, ["7"]),
        ({"artifact_type": "file"}, ["docs/a.md#L3-L7", "7"]),
        ({"artifact_type": "report"}, ["7"]),
        ({"collection": "files"}, ["docs/a.md#L3-L7", "7"]),
        ({"external_id": "docs/a.md"}, ["docs/a.md#L3-L7", "7"]),
        ({"sensitivity": "confidential"}, ["docs/a.md#L3-L7", "7"]),
        ({"sensitivity": {"$lt": "confidential"}}, ["7"]),
        ({"area": "legal"}, ["7"]),
        ({"area": {"$exists": False}}, ["docs/a.md#L3-L7", "7"]),
    ):
        grep = ScriptedGrep(found(*passages))
        source = source_over(grep, access=FileAccess(sensitivity=Sensitivity.CONFIDENTIAL))
        answer = await source.retrieve(asked(filters=where(**filters)))
        assert [key[0] for key in keys(answer.ranked_list.hits)] == shown, filters
        assert grep.requests[0][2] == where(**filters)


async def test_filters_take_nothing_from_the_limit() -> None:
    """What is filtered out is not counted: the head is filled from behind it."""
    passages = [passage(f"docs/{number:03}.md") for number in range(30)]
    grep = ScriptedGrep(found(*passages, passage("docs/last.md", chunk="7")))
    answer = await source_over(grep).retrieve(asked(limit=1, filters=where(language="en")))
    assert keys(answer.ranked_list.hits) == [("7", "", 0)]


async def test_what_a_search_did_not_see_is_said() -> None:
    answer = await source_over(ScriptedGrep(found(passage("a"), timed_out=True, cut=True))).retrieve(asked())
    assert (answer.incomplete, answer.cut, len(answer.ranked_list)) == ("timeout", True, 1)


async def test_a_caller_who_may_not_read_the_files_finds_nothing() -> None:
    answer = await source_over(ScriptedGrep(error=FileAccessDeniedError("no"))).retrieve(asked())
    assert (answer.ranked_list.hits, answer.incomplete) == ((), None)


@pytest.mark.parametrize("error", [SourceUnavailableError("out"), StorageUnavailableError("out")])
async def test_an_outage_is_said(error: SourceUnavailableError) -> None:
    with pytest.raises(type(error)):
        await source_over(ScriptedGrep(error=error)).retrieve(asked())


MANY = " ".join(f"palabra{letter}" for letter in "abcdefghij")


async def test_of_more_words_than_are_looked_for_the_rarest_are() -> None:
    rare = {f"palabra{letter}": 100 - number for number, letter in enumerate("abcdefghij")}
    frequencies = ScriptedFrequencies(rare)
    assert await terms_of(asked(MANY), frequencies) == tuple(f"palabra{letter}" for letter in "jihgfedc")
    assert frequencies.texts == [MANY]


async def test_few_words_need_no_frequencies() -> None:
    frequencies = ScriptedFrequencies()
    await terms_of(asked(), frequencies)
    assert frequencies.texts == []


async def test_without_frequencies_the_source_goes_on() -> None:
    out = ScriptedFrequencies(error=StorageUnavailableError("out"))
    assert await terms_of(asked(MANY), out) == tuple(MANY.split())[:MAX_KEYWORDS]
