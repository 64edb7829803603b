"""The retrieval source over files: finds the query's terms literally, with their lines."""

from ragcorp.application.files.candidates import file_passes
from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.files.keyword_extraction import MAX_KEYWORDS, foremost, given_terms, keywords
from ragcorp.domain.exceptions import FileAccessDeniedError, StorageUnavailableError
from ragcorp.domain.files.values import (
    FILES,
    MAX_GREP_QUERY,
    MAX_GREP_TERMS,
    MAX_PASSAGES,
    FileAccess,
    GrepCase,
    GrepPassage,
    GrepRequest,
    GrepResult,
    hit_of,
)
from ragcorp.domain.filters import DOCUMENT_FIELDS
from ragcorp.domain.ports.file_search import TermFrequencies
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, HitKey, RankedList, ScoreType
from ragcorp.domain.search.sources import GREP
from ragcorp.domain.text.checks import is_blank

TIMED_OUT = "timeout"
ROOT_UNAVAILABLE = "root_unavailable"


class FileGrepSource:
    """Passages, or chunks, around the caller's keywords or the query's terms; only the latter have evidence."""

    name = GREP
    collection = FILES
    filter_fields = DOCUMENT_FIELDS

    def __init__(
        self, *, files: GrepFiles, frequencies: TermFrequencies, access: FileAccess, default_language: str = "es"
    ) -> None:
        self._files = files
        self._frequencies = frequencies
        self._access = access
        self._language = default_language

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        given = _given(query)
        if given is None:
            terms, left_out = await self._terms(query.text, query.principal), list[str]()
        else:
            terms, left_out = await self._given_terms(given, query.principal)
        notes = {"keywords": list(terms)} | ({"keywords_left_out": left_out} if left_out else {})
        nothing = SourceAnswer(ranked_list=self._list(()), notes=notes)
        if not terms:
            return nothing
        request = GrepRequest(
            query=" ".join(terms)[:MAX_GREP_QUERY],
            terms=terms,
            case=GrepCase.INSENSITIVE,
            max_characters=None,
            # filters take passages of files away only here
            max_passages=MAX_PASSAGES if query.filters else min(max(1, query.limit), MAX_PASSAGES),
        )
        try:
            result = await self._files.grep(request, principal=query.principal, filters=query.filters)
        except FileAccessDeniedError:
            return nothing
        shares = evidence_shares(result) if given is None else {}
        hits: dict[HitKey, Hit] = {}
        for passage in result.passages:
            if self._passes(passage, query):
                hit = hit_of(passage)._replace(evidence=shares.get(passage))
                hits.setdefault(hit.key, hit)
        return SourceAnswer(
            ranked_list=self._list(tuple(hits.values())[: query.limit]),
            cut=result.cut,
            incomplete=TIMED_OUT if result.timed_out else ROOT_UNAVAILABLE if result.unavailable else None,
            notes=notes,
            literals=terms,
        )

    async def _given_terms(self, text: str, principal: Principal) -> tuple[tuple[str, ...], list[str]]:
        """Return the caller's terms, and those over the limit."""
        terms = given_terms(text)
        if len(terms) <= MAX_GREP_TERMS:
            return terms, []
        kept = foremost(terms, await self._document_frequencies(text, principal))
        return kept, [term for term in terms if term not in kept]

    async def _terms(self, text: str, principal: Principal) -> tuple[str, ...]:
        terms = keywords(text, limit=MAX_GREP_TERMS)
        if len(terms) <= MAX_KEYWORDS:  # their order would decide nothing
            return terms
        return keywords(text, await self._document_frequencies(text, principal))

    async def _document_frequencies(self, text: str, principal: Principal) -> dict[str, int]:
        """Return the words' frequencies; empty during an outage, as they only choose among words."""
        try:
            return dict(await self._frequencies.document_frequencies(text, principal=principal))
        except StorageUnavailableError:
            return {}

    def _passes(self, passage: GrepPassage, query: SourceQuery) -> bool:
        """Return whether a passage meets the filters; storage has already filtered chunks."""
        return passage.chunk is not None or file_passes(
            query.filters, passage.path, access=self._access, language=self._language
        )

    def _list(self, hits: tuple[Hit, ...]) -> RankedList:
        return RankedList(source=self.name, score_type=ScoreType.GREP, hits=hits)


def evidence_shares(result: GrepResult) -> dict[GrepPassage, float]:
    """Return the share in [0, 1] of the evidence that was looked for, by passage.

    share(p) = sum of idf over the terms in p / sum of idf over the matched terms  *  matched terms / terms

    The first factor is twice what a passage's score has beyond the number of its terms (grep_ranking.py). A term is
    matched if a passage of the result contains it; the idf of others is unknown.
    """
    share = len({term for passage in result.passages for term in passage.terms}) / max(1, len(result.terms))
    return {
        passage: min(1.0, max(0.0, 2 * (passage.score - len(passage.terms)) * share)) for passage in result.passages
    }


def _given(query: SourceQuery) -> str | None:
    """Return the caller's keywords, unless they repeat the query."""
    given = query.keywords
    return None if given is None or is_blank(given) or _plain(given) == _plain(query.text) else given


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
