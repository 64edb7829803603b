"""Plans a search once: checks the request, chooses its profile, and reads its cursor."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.search import page_cursor
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.files.values import MAX_GREP_QUERY
from ragcorp.domain.filters import MAX_FILTER_CONDITIONS, fields_of, require_filters
from ragcorp.domain.keys import ForbiddenError, Scope
from ragcorp.domain.ports.sources import SourceQuery
from ragcorp.domain.principal import Principal
from ragcorp.domain.search.requests import FusionMethod, SearchMode, SearchRequest
from ragcorp.domain.search.sources import GREP, OWN_SOURCES
from ragcorp.domain.text.checks import is_blank, require_length, require_storable

logger = logging.getLogger(__name__)

KEYWORDS_PROFILE = "files"
"""The profile of a request with exact keywords and neither mode nor profile."""

SELF_NARROWING = frozenset({"artifact_type", "session"})
"""A request that filters by one of these chooses the kind of passage itself; the profile's narrowing is not added."""


def current_hour() -> datetime:
    """Return the start of the current hour: ages are counted in hours, so that repeated searches agree."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRules:
    """Limits of a request, the meaning of mode auto, and the time for a whole search."""

    default_mode: SearchMode
    default_method: FusionMethod = FusionMethod.RRF
    max_query_characters: int = 2000
    max_filter_conditions: int = MAX_FILTER_CONDITIONS
    max_limit: int = 50
    total_timeout_seconds: float = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """One search, decided. ``profile`` has the overrides, ``moment`` is an hour, ``deadline`` on the loop's clock."""

    request: SearchRequest
    principal: Principal
    profile: RetrievalProfile
    moment: datetime
    deadline: float
    offset: int = 0

    def source_query(self, source: str) -> SourceQuery:
        """Return the query for a source of the profile."""
        hours = self.profile.lookback_hours.get(source)
        filters = self.request.filters
        if not fields_of(filters) & SELF_NARROWING:
            filters = (*filters, *self.profile.narrowing.get(source, ()))
        return SourceQuery(
            text=self.request.query,
            principal=self.principal,
            filters=filters,
            limit=self.profile.pool(source),
            syntax=self.request.syntax,
            explain=self.request.explain,
            now=self.moment,
            since=None if hours is None else self.moment - timedelta(hours=hours),
            keywords=self.request.exact_keywords,
        )


class SearchPlanner:
    """Turns requests into plans. ``methods`` are the fusions that are wired; without any, hybrid becomes dense."""

    def __init__(
        self,
        *,
        profiles: Mapping[str, RetrievalProfile],
        methods: Collection[FusionMethod],
        rules: SearchRules,
        now: Callable[[], datetime] = current_hour,
    ) -> None:
        self._profiles = dict(profiles)
        self._methods = frozenset(methods)
        self._rules = rules
        self._now = now
        self._warned = False

    def plan(self, request: SearchRequest, *, principal: Principal) -> QueryPlan:
        """Plan a request. Raises InvalidInputError, or ForbiddenError for files that the principal may not read."""
        self._check(request)
        profile = self._profile(request)
        _require_scope(profile, request, principal)
        position = page_cursor.decode(request, window=profile.rank_window_size, now=self._now())
        if position.reranked is False:
            profile = replace(profile, steps=replace(profile.steps, rerank=False))
        return QueryPlan(
            request=request,
            principal=principal,
            profile=profile,
            moment=position.moment or self._now(),
            deadline=asyncio.get_running_loop().time() + self._rules.total_timeout_seconds,
            offset=position.offset,
        )

    def _check(self, request: SearchRequest) -> None:
        if is_blank(request.query):
            raise InvalidInputError("query is empty.", field="query", remedy="Ask for something.")
        require_length(request.query, field="query", limit=self._rules.max_query_characters)
        require_filters(request.filters, conditions=self._rules.max_filter_conditions)
        require_storable(request.query, field="query")
        if request.exact_keywords is not None:
            require_length(request.exact_keywords, field="exact_keywords", limit=MAX_GREP_QUERY)
            require_storable(request.exact_keywords, field="exact_keywords")
        if not 1 <= request.limit <= self._rules.max_limit:
            raise InvalidInputError.out_of_range(
                "limit", f"1 to {self._rules.max_limit}", remedy="Ask for fewer results and follow next_cursor."
            )

    def _profile(self, request: SearchRequest) -> RetrievalProfile:
        if request.by_keywords:
            return self._named(KEYWORDS_PROFILE).overridden_by(request)
        profile = self._chosen(request)
        if request.has_keywords and OWN_SOURCES.issuperset(profile.sources) and GREP not in profile.sources:
            raise InvalidInputError(
                "exact_keywords are looked for in files, which this search does not ask.",
                field="exact_keywords",
                limit="profiles files and grep",
                remedy="Name one of those, leave out mode and profile, or leave out the keywords.",
            )
        return profile

    def _chosen(self, request: SearchRequest) -> RetrievalProfile:
        if request.profile is not None:
            return self._named(request.profile).overridden_by(request)
        mode = self._rules.default_mode if request.mode is SearchMode.AUTO else request.mode
        name = mode.value
        if mode is SearchMode.HYBRID:
            method = request.method or self._rules.default_method
            name = "linear" if method is FusionMethod.LINEAR else "hybrid"
            if method not in self._methods:
                name = "dense"
                if not self._warned:
                    logger.warning("hybrid search is on but no fusion service is wired: searching dense only")
                    self._warned = True
        return self._profiles[name].overridden_by(request)

    def _named(self, name: str) -> RetrievalProfile:
        profile = self._profiles.get(name)
        if profile is None or (self._methods and profile.method not in self._methods):
            raise InvalidInputError(
                "profile is not a known one.",
                field="profile",
                limit=", ".join(sorted(self._profiles)),
                remedy="Name one of them, or leave it out.",
            )
        return profile


def _require_scope(profile: RetrievalProfile, request: SearchRequest, principal: Principal) -> None:
    """Raise ForbiddenError for a request for files that the principal may not read. Optional files are skipped."""
    if principal.may_read_files or GREP not in profile.sources:
        return
    named = request.has_keywords or request.profile in (KEYWORDS_PROFILE, GREP)
    if named or request.require_all or set(profile.sources) == {GREP}:
        raise ForbiddenError(Scope.TOOLS)
