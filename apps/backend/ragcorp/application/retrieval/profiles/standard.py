"""The standard profiles, from ``dense`` to ``everything`` and ``files``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragcorp.application.retrieval.fusion.rank_fusion import DEFAULT_RANK_CONSTANT
from ragcorp.application.retrieval.fusion.thresholds import distance_thresholds
from ragcorp.application.retrieval.profiles.profile import (
    A_FIFTH_OF_THE_EVIDENCE,
    HALF_OF_THE_TERMS,
    LINEAR_WEIGHTS,
    RRF_WEIGHTS,
    RetrievalProfile,
    Steps,
)
from ragcorp.application.retrieval.steps.diversification import Diversification
from ragcorp.application.retrieval.steps.temporal_decay import TemporalDecay
from ragcorp.domain.collections import EXCHANGE_KINDS
from ragcorp.domain.filters import Condition, Operator
from ragcorp.domain.search.requests import FusionMethod, SearchMode
from ragcorp.domain.search.sources import (
    DENSE,
    FULL_TEXT,
    GRAPH_FACTS,
    HISTORY_DENSE,
    HISTORY_FULL_TEXT,
    MEMORY_DENSE,
    MEMORY_FULL_TEXT,
    SOURCES_OF,
)

DEFAULT_DISTANCE = 0.5
"""Default of ``vector_score_threshold``, for a model without a stored one."""

SPARSE_POOL, DENSE_POOL, GRAPH_POOL = 4.0, 2.0, 1.0
"""Pools of the profile ``memory``, in quarters of the window."""

STATEMENTS_ONLY = (Condition(name="artifact_type", operator=Operator.NOT_IN, values=EXCHANGE_KINDS),)
"""Excludes questions and generated answers from history: they would outrank statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileParameters:
    """Parameters of the standard profiles. ``overfetch_multiplier`` is in quarters of the window, as pools are.

    ``extra_sources`` are added to every profile with several sources. From the cosine distance
    ``vector_score_threshold`` on, ``files`` and ``vectors`` discard hits of a dense source.
    """

    rank_constant: int = DEFAULT_RANK_CONSTANT
    rank_window_size: int = 100
    linear_weights: Mapping[str, float] = field(default_factory=lambda: LINEAR_WEIGHTS)
    extra_sources: tuple[str, ...] = ()
    overfetch_multiplier: float = 3.0
    decay: TemporalDecay = field(default_factory=TemporalDecay)
    diversification: Diversification = field(default_factory=Diversification)
    lookback_hours: float = 168.0
    vector_score_threshold: float = DEFAULT_DISTANCE


def standard_profiles(parameters: ProfileParameters | None = None) -> dict[str, RetrievalProfile]:
    """Return the profiles by name.

    ``collections`` searches artifacts and their chunks, ``memory`` memory, history and graph, and ``everything`` both,
    without decay. ``files`` searches vectors and files, ``grep`` and ``vectors`` one of the two. ``code`` is hybrid
    search that also finds the symbols, files, headings, clauses and codes named by a query.
    """
    given = parameters or ProfileParameters()
    dense = RetrievalProfile(
        name="dense",
        mode=SearchMode.DENSE,
        sources=SOURCES_OF["dense"],
        substitute=FULL_TEXT,
        weights=RRF_WEIGHTS,
        thresholds=(A_FIFTH_OF_THE_EVIDENCE,),
        rank_constant=given.rank_constant,
        rank_window_size=given.rank_window_size,
    )
    hybrid = replace(
        dense,
        name="hybrid",
        mode=SearchMode.HYBRID,
        sources=(*SOURCES_OF["hybrid"], *given.extra_sources),
        substitute=None,
    )
    sparse = replace(dense, name="sparse", mode=SearchMode.SPARSE, sources=SOURCES_OF["sparse"], substitute=None)
    linear = replace(
        hybrid, name="linear", method=FusionMethod.LINEAR, weights=given.linear_weights, thresholds=(), fallback=hybrid
    )
    collections = _collections(hybrid, given)
    memory = _memory(hybrid, given)
    everything = replace(
        collections,
        name="everything",
        sources=tuple(dict.fromkeys((*collections.sources, *memory.sources))),
        narrowing=memory.narrowing,
        pools={**memory.pools, **dict.fromkeys(collections.sources, given.overfetch_multiplier)},
        steps=Steps(deduplicate=True, diversify=given.diversification),
    )
    vectors = replace(
        dense,
        name="vectors",
        thresholds=(*dense.thresholds, *distance_thresholds((DENSE,), given.vector_score_threshold)),
    )
    files = replace(
        vectors,
        name="files",
        mode=SearchMode.HYBRID,
        sources=(*SOURCES_OF["files"], *given.extra_sources),
        thresholds=(*vectors.thresholds, HALF_OF_THE_TERMS),
    )
    grep = replace(sparse, name="grep", sources=SOURCES_OF["grep"])
    code = replace(hybrid, name="code", sources=(*SOURCES_OF["code"], *given.extra_sources))
    every = (dense, sparse, hybrid, linear, collections, memory, everything, vectors, files, grep, code)
    return {profile.name: profile for profile in every}


def _collections(hybrid: RetrievalProfile, given: ProfileParameters) -> RetrievalProfile:
    sources = (*SOURCES_OF["collections"], *given.extra_sources)
    return replace(
        hybrid,
        name="collections",
        sources=sources,
        pools=dict.fromkeys((*sources, MEMORY_DENSE, MEMORY_FULL_TEXT), given.overfetch_multiplier),
        steps=Steps(deduplicate=True),
    )


def _memory(hybrid: RetrievalProfile, given: ProfileParameters) -> RetrievalProfile:
    return replace(
        hybrid,
        name="memory",
        sources=(*SOURCES_OF["memory"], *given.extra_sources),
        thresholds=(),
        pools={
            **dict.fromkeys((MEMORY_FULL_TEXT, HISTORY_FULL_TEXT), SPARSE_POOL),
            **dict.fromkeys((MEMORY_DENSE, HISTORY_DENSE), DENSE_POOL),
            GRAPH_FACTS: GRAPH_POOL,
        },
        lookback_hours={HISTORY_FULL_TEXT: given.lookback_hours},
        narrowing=dict.fromkeys((HISTORY_DENSE, HISTORY_FULL_TEXT), STATEMENTS_ONLY),
        steps=Steps(decay=given.decay, deduplicate=True, diversify=given.diversification),
    )
