"""The retrieval source over files: what a question names is looked for literally, and found with its lines."""

from __future__ import annotations

from ragcorp.application.file_candidates import file_passes
from ragcorp.application.keyword_extraction import MAX_KEYWORDS, given_terms, keywords
from ragcorp.application.retrieval_profile import GREP
from ragcorp.domain.exceptions import FileAccessDeniedError, StorageUnavailableError
from ragcorp.domain.files import (
    FILES,
    MAX_GREP_QUERY,
    MAX_GREP_TERMS,
    MAX_PASSAGES,
    FileAccess,
    GrepCase,
    GrepPassage,
    GrepRequest,
    hit_of,
)
from ragcorp.domain.filters import DOCUMENT_FIELDS
from ragcorp.domain.ports.file_search import FileGrep, TermFrequencies
from ragcorp.domain.ports.sources import SourceAnswer, SourceQuery
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, HitKey, RankedList, ScoreType
from ragcorp.domain.text import is_blank

TIMED_OUT = "timeout"


class FileGrepSource:
    """Passages of files around the terms, whatever their case and accents; a passage of a document is its chunk.

    The terms are the caller's keywords, else those of the question; where it has none, nothing is found. A caller who
    may not read the files finds nothing either.
    """

    name = GREP
    collection = FILES
    filter_fields = DOCUMENT_FIELDS

    def __init__(
        self, *, files: FileGrep, frequencies: TermFrequencies, access: FileAccess, default_language: str = "es"
    ) -> None:
        self._files = files
        self._frequencies = frequencies
        self._access = access
        self._language = default_language

    async def retrieve(self, query: SourceQuery) -> SourceAnswer:
        terms = await self._terms(query)
        nothing = SourceAnswer(ranked_list=self._list(()), notes={"keywords": list(terms)})
        if not terms:
            return nothing
        request = GrepRequest(
            query=" ".join(terms)[:MAX_GREP_QUERY],
            terms=terms,
            case=GrepCase.INSENSITIVE,
            # filters take passages of files away only here
            max_passages=MAX_PASSAGES if query.filters else min(max(1, query.limit), MAX_PASSAGES),
        )
        try:
            found = await self._files.execute(request, principal=query.principal, filters=query.filters)
        except FileAccessDeniedError:
            return nothing
        hits: dict[HitKey, Hit] = {}
        for passage in found.passages:
            if self._passes(passage, query):
                hit = hit_of(passage)
                hits.setdefault(hit.key, hit)
        return SourceAnswer(
            ranked_list=self._list(tuple(hits.values())[: query.limit]),
            cut=found.cut,
            incomplete=TIMED_OUT if found.timed_out else None,
            notes={"keywords": list(terms)},
        )

    async def _terms(self, query: SourceQuery) -> tuple[str, ...]:
        given = query.keywords
        if given is not None and not is_blank(given) and _plain(given) != _plain(query.text):
            return given_terms(given)
        terms = keywords(query.text, limit=MAX_GREP_TERMS)
        if len(terms) <= MAX_KEYWORDS:  # their order would decide nothing
            return terms
        return keywords(query.text, await self._known(query.text, query.principal))

    async def _known(self, text: str, principal: Principal) -> dict[str, int]:
        """Return the words' frequencies; none where they cannot be had, as they only choose among words."""
        try:
            return dict(await self._frequencies.document_frequencies(text, principal=principal))
        except StorageUnavailableError:
            return {}

    def _passes(self, passage: GrepPassage, query: SourceQuery) -> bool:
        """Say whether the filters let a passage pass; of one that is a chunk, storage has said it already."""
        return passage.chunk is not None or file_passes(
            query.filters, passage.path, access=self._access, language=self._language
        )

    def _list(self, hits: tuple[Hit, ...]) -> RankedList:
        return RankedList(source=self.name, score_type=ScoreType.GREP, hits=hits)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
