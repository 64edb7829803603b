"""Reads the results of a page: the content of its passages, and their neighbours."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.application.resilience.source_reports import logged_failure
from ragcorp.application.resilience.time_bound import run_until
from ragcorp.application.retrieval.search.list_fusion import Ranking
from ragcorp.application.retrieval.steps import neighbour_expansion, reranking
from ragcorp.application.retrieval.steps.deduplication import collections_of
from ragcorp.application.retrieval.steps.neighbour_expansion import expanded
from ragcorp.application.retrieval.steps.visibility_policy import readable_passage
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.files.values import FILES, MATCHED_LINES
from ragcorp.domain.ports.collections import CandidateStore
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import CHUNK_COLLECTION, FusedHit, HitKey, ScoreType, SourceReport
from ragcorp.domain.search.candidates import Candidate, StepReport
from ragcorp.domain.search.requests import SearchHit
from ragcorp.domain.search.sources import GREP

READING_SECONDS = 0.5
"""Minimum time to read a page, where the sources used up the search's time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """The results, the offset of the next page, and the outcome of neighbour expansion, if any."""

    hits: tuple[SearchHit, ...]
    end: int
    steps: tuple[StepReport, ...] = ()
    reports: tuple[SourceReport, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReader:
    """Fetches the content of the returned passages only."""

    repository: DocumentRepository
    store: CandidateStore

    async def read(self, window: Sequence[FusedHit | Candidate], ranking: Ranking) -> ResultPage:
        """Return the page without replaced passages; late neighbours are left out. Raises StorageUnavailableError."""
        plan = ranking.plan
        neighbours = plan.profile.steps.neighbours
        deadline = max(plan.deadline, asyncio.get_running_loop().time() + READING_SECONDS)
        try:
            hits, end = await run_until(deadline, self._page(window, ranking))
        except TimeoutError:
            raise StorageUnavailableError(
                "The passages could not be read in time.", reason="timeout", remedy="Try again shortly."
            ) from None
        if not neighbours:
            return ResultPage(hits=hits, end=end)
        started = time.perf_counter()
        report = neighbour_expansion.report(len(hits), distance=neighbours)
        try:
            shown = await run_until(deadline, self._expanded(hits, neighbours, plan.principal))
        except (TimeoutError, StorageUnavailableError) as error:
            late = logged_failure(neighbour_expansion.STEP, error, started)
            return ResultPage(hits=hits, end=end, steps=(replace(report, skipped=late.reason),), reports=(late,))
        return ResultPage(hits=shown, end=end, steps=(report,))

    async def _page(
        self, window: Sequence[FusedHit | Candidate], ranking: Ranking
    ) -> tuple[tuple[SearchHit, ...], int]:
        hits: list[SearchHit] = []
        principal, limit, end = ranking.plan.principal, ranking.plan.request.limit, ranking.plan.offset
        while len(hits) < limit and end < len(window):
            batch = window[end : end + limit - len(hits)]
            passages = await self._passages([_fused(item).hit.key for item in batch], principal)
            for rank, item in enumerate(batch, start=end + 1):
                passage = passages.get(_fused(item).hit.key)
                if passage is not None and readable_passage(principal, passage):
                    hits.append(_hit(rank, item, passage, ranking))
            end += len(batch)
        return tuple(hits), end

    async def _passages(self, keys: Sequence[HitKey], principal: Principal) -> Mapping[HitKey, Chunk]:
        if any(collection for _, collection, _ in keys):
            return await self.store.read(keys, principal=principal)
        chunks = await self.repository.get_chunks([key[0] for key in keys], principal=principal)
        return {chunk.key: chunk for chunk in chunks.values()}

    async def _expanded(
        self, hits: tuple[SearchHit, ...], distance: int, principal: Principal
    ) -> tuple[SearchHit, ...]:
        centres = [
            (hit.chunk.document_id, hit.chunk.chunk_index) for hit in hits if hit.chunk.collection == CHUNK_COLLECTION
        ]
        if not centres:
            return hits
        neighbours = await self.store.neighbours(centres, distance=distance, principal=principal)
        return tuple(replace(hit, chunk=expanded(hit.chunk, neighbours, distance=distance)) for hit in hits)


def _fused(item: FusedHit | Candidate) -> FusedHit:
    return item.fused if isinstance(item, Candidate) else item


def _hit(rank: int, item: FusedHit | Candidate, passage: Chunk, ranking: Ranking) -> SearchHit:
    fused = _fused(item)
    collections = collections_of(item) if isinstance(item, Candidate) else (passage.collection,)
    grepped = any(part.source == GREP for part in fused.contributions)
    return SearchHit(
        rank=rank,
        score=item.score,
        score_type=_score_type(item, ranking) if isinstance(item, Candidate) else ranking.score_type,
        chunk=passage,
        sources=fused.contributions,
        collections=tuple(dict.fromkeys((*collections, FILES))) if grepped else collections,
        matched_lines=fused.hit.metadata.get(MATCHED_LINES, ()) if grepped else (),  # type: ignore[arg-type]
        steps=item.notes if isinstance(item, Candidate) else {},
    )


def _score_type(candidate: Candidate, ranking: Ranking) -> str:
    if reranking.STEP in candidate.notes:
        return ScoreType.RELEVANCE
    return ScoreType.DECAYED if ranking.plan.profile.steps.decay is not None else ranking.score_type
