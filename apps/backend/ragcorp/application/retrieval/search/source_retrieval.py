"""Queries the sources of a plan, and resolves and filters their hits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ragcorp.application.retrieval.search.fan_out import (
    FILTERED,
    NO_EMBEDDER,
    NOT_CONFIGURED,
    OPERATORS,
    SCOPED,
    SourceFanOut,
)
from ragcorp.application.retrieval.search.plan import QueryPlan
from ragcorp.domain.exceptions import AllSourcesFailedError, InvalidInputError
from ragcorp.domain.filters import Filters
from ragcorp.domain.keys import ForbiddenError, Scope
from ragcorp.domain.ports.collections import CandidateStore
from ragcorp.domain.ports.sources import SourceResult
from ragcorp.domain.ports.storage import DocumentRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit, HitKey, RankedList, SourceOutcome
from ragcorp.domain.search.requests import SearchRequest
from ragcorp.domain.search.sources import OWN_LISTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRetrieval:
    """Queries the sources in parallel, and then the stand-in if the first source is degraded."""

    fan_out: SourceFanOut
    repository: DocumentRepository
    store: CandidateStore

    async def retrieve(self, plan: QueryPlan) -> list[SourceResult]:
        """Return a result per source. Raises InvalidInputError, ForbiddenError or AllSourcesFailedError."""
        profile = plan.profile
        identify = partial(self._identified, filters=plan.request.filters)
        results = await self.fan_out.query(
            profile.sources, plan, identify=identify, replaceable=profile.substitute is not None
        )
        if profile.substitute and results[0].report.reason is not None:
            results += await self.fan_out.query([profile.substitute], plan, identify=identify)
        _require_answers(results, plan.request)
        return results

    async def _identified(self, ranked: RankedList, principal: Principal, *, filters: Filters) -> RankedList:
        """Resolve positions to chunk ids, without duplicates; drop hits of custom sources that must not be counted."""
        positions = [
            (hit.document_id, hit.chunk_index)
            for hit in ranked.hits
            if hit.chunk_id is None and hit.document_id is not None and hit.chunk_index is not None
        ]
        if positions:
            chunk_ids = await self.repository.find_chunk_ids(positions, principal=principal)
            hits: dict[HitKey, Hit] = {}
            for hit in ranked.hits:
                chunk_id = hit.chunk_id or chunk_ids.get((hit.document_id, hit.chunk_index))  # type: ignore[arg-type]
                if hit.item_id is not None:
                    hits.setdefault(hit.key, hit)
                elif chunk_id is not None:
                    named = hit._replace(chunk_id=chunk_id)
                    hits.setdefault(named.key, named)
            ranked = ranked.with_hits(tuple(hits.values()))
        if ranked.source in OWN_LISTS or not ranked.hits:
            return ranked
        keys = [hit.key for hit in ranked.hits]
        described = await self.store.describe(keys, principal=principal, filters=filters)
        return ranked.with_hits(tuple(hit for hit in ranked.hits if hit.key in described))


def _is_for_good(reason: str) -> bool:
    """Return whether a later retry cannot help."""
    return reason in (NOT_CONFIGURED, NO_EMBEDDER) or reason.startswith((FILTERED, OPERATORS))


def _require_answers(results: Sequence[SourceResult], request: SearchRequest) -> None:
    reports = [result.report for result in results]
    if all(
        report.outcome is SourceOutcome.SKIPPED and (report.reason or FILTERED).startswith((FILTERED, OPERATORS))
        for report in reports
    ):
        by_syntax = any((report.reason or "").startswith(OPERATORS) for report in reports)
        raise InvalidInputError(
            f"No source of this search can apply the {'operators' if by_syntax else 'filters'}.",
            field="syntax" if by_syntax else "filters",
            remedy=(
                "Use syntax plain, or a profile that searches chunks."
                if by_syntax
                else "Name a profile whose collections have these fields, or leave the filter out."
            ),
        )
    if all(report.reason == NOT_CONFIGURED for report in reports):
        raise InvalidInputError(
            "No source of this profile is set up here.",
            field="profile",
            remedy="Name another profile; one of files needs ALLOWED_PATHS.",
        )
    lacking = [report.reason for report in reports if report.reason is not None]
    if any(reason.startswith(SCOPED) for reason in lacking) and (
        request.require_all or all(report.outcome is SourceOutcome.SKIPPED for report in reports)
    ):
        raise ForbiddenError(Scope.TOOLS)
    if lacking and (request.require_all or len(lacking) == len(reports)) and all(map(_is_for_good, lacking)):
        raise InvalidInputError(
            "This search needs what its sources do not have here: "
            + ", ".join(sorted({f"{report.source} ({report.reason})" for report in reports if report.reason}))
            + ".",
            field="require_all" if request.require_all else "profile",
            remedy="Leave out require_all, the filter or the profile; an operator can set up what is missing.",
        )
    reasons = ",".join(sorted({f"{report.source}:{report.reason}" for report in reports if report.reason is not None}))
    if all(result.answer is None for result in results):
        raise AllSourcesFailedError(
            "No retrieval source could answer.",
            reason=reasons,
            remedy="Try again shortly; `ragcorp doctor` explains what is down.",
        )
    if request.require_all and reasons:
        raise AllSourcesFailedError(
            f"require_all takes no answer without every source, and these did not do their part: {reasons}.",
            field="require_all",
            reason=reasons,
            remedy="Leave require_all out, name a profile without them, or see `ragcorp doctor`.",
        )
