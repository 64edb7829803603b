"""Builds the status report: parts that are off, readiness findings and visible settings."""

from collections.abc import Awaitable, Callable, Sequence

import ragcorp
from ragcorp.application.retrieval.steps.reranking import STEP as RERANK
from ragcorp.application.status.report import ANSWERER, DATABASE, ReportStatus, ServiceFacts, name_of
from ragcorp.domain.diagnosis import Finding, NotReadyError
from ragcorp.domain.search.sources import DENSE_SOURCES, FULL_TEXT_SOURCES, GREP
from ragcorp.domain.status import Flag, PartState, PartStatus
from ragcorp.infrastructure.postgres.collections.counts import PostgresContentCounts
from ragcorp.main.settings.rows import setting_rows
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.container import Container

_VISIBLE = """
    enable_hybrid_search hybrid_shadow hybrid_rollout_percent fusion_method rrf_k rank_window_size sparse_ranking
    sparse_operator sparse_budget hnsw_ef_search hnsw_max_scan_tuples source_timeout_seconds search_timeout_seconds
    circuit_breaker_failures circuit_breaker_cooldown_seconds overfetch_multiplier temporal_decay_half_life_days
    evergreen_floor mmr_lambda mmr_candidate_pool_size graph_similarity_threshold default_lookback_hours
    vector_score_threshold enable_file_mention_anchors enable_symbol_mention_anchors
    enable_previous_hydration_anchors enable_semantic_ranking semantic_threshold semantic_budget_tokens
    semantic_budget_entities hydration_max_tokens hydration_max_entities rerank_provider rerank_model
    rerank_timeout_seconds rerank_pool_size embedding_provider embedding_model embedding_dim answer_provider
    answer_model answer_timeout_seconds answer_max_passages default_language chunk_max_tokens chunk_overlap_tokens
    request_timeout_seconds max_file_bytes max_query_characters max_limit max_filter_conditions
    rate_limit_per_minute rate_limit_burst key_concurrency daily_token_budget enable_tracing
"""
VISIBLE = tuple(_VISIBLE.split())
"""Settings that every caller may see: those that shape searches and answers, and the caller's limits; no addresses,
folders, workspaces, hosts or secrets."""

AFFECTED_SOURCES = {
    "schema": ((DATABASE,), PartState.OUT),
    "indexes": ((DATABASE,), PartState.DEGRADED),
    "vectors": (DENSE_SOURCES, PartState.OUT),
    "text_search": (FULL_TEXT_SOURCES, PartState.OUT),
}
"""Sources that a failed check of /readyz affects, and their state."""


def make_status(container: Container, *, readiness: Callable[[], Awaitable[None]]) -> ReportStatus:
    async def look() -> Sequence[PartStatus]:
        try:
            await readiness()
        except NotReadyError as error:
            return tuple(part for finding in error.findings if not finding.ok for part in _affected(finding))
        return ()

    model = container.embedder.model
    off = tuple(_parts_off(container))
    return ReportStatus(
        facts=ServiceFacts(
            version=ragcorp.__version__,
            model=model.name if model.dimensions > 0 else None,
            off=off,
            models=tuple(name for name in (RERANK, ANSWERER) if name not in {part.source for part in off}),
            flags=visible_flags(container.settings),
        ),
        circuits=container.search_parts.breaker_states,
        failed_calls=lambda: container.search_parts.model_health.failed,
        look=look,
        counter=PostgresContentCounts(container.database),
    )


def visible_flags(settings: Settings) -> tuple[Flag, ...]:
    """Return the settings of ``VISIBLE`` in that order; the default model by name."""
    rows = {row.name: row for row in setting_rows(settings, {})}
    return tuple(
        Flag(
            name=name.upper(),
            value=_written(rows[name.upper()].value),
            is_default=getattr(settings, name) == Settings.model_fields[name].default,
            says=rows[name.upper()].description,
        )
        for name in VISIBLE
    )


def _written(value: str | float | bool | None) -> str | None:
    """Return a value as its environment variable is written."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parts_off(container: Container) -> list[PartStatus]:
    off: list[PartStatus] = []
    if container.embedder.model.dimensions == 0:
        remedy = "Set EMBEDDING_PROVIDER to local or openai."
        off += [_off(source, "no_embedder", "no embedding model is set up.", remedy) for source in DENSE_SOURCES]
    if not container.file_roots:
        off.append(_off(GREP, "not_configured", "no folder is allowed.", "Name the folders in ALLOWED_PATHS."))
    if not container.search_parts.reranks:
        off.append(_off(RERANK, "not_configured", "no reranker is set up.", "Set RERANK_PROVIDER and RERANK_URL."))
    return off


def _off(source: str, reason: str, cause: str, remedy: str) -> PartStatus:
    says = f"{name_of(source)} is off: {cause}"
    return PartStatus(source=source, state=PartState.OFF, reason=reason, says=says, remedy=remedy)


def _affected(finding: Finding) -> list[PartStatus]:
    sources, state = AFFECTED_SOURCES[finding.check]
    return [
        PartStatus(source=source, state=state, reason=finding.reason, says=finding.says, remedy=finding.remedy)
        for source in sources
    ]
