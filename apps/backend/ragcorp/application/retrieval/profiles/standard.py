"""The profiles that are always there, from ``dense`` to ``everything`` and ``files``."""

from __future__ import annotations

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
from ragcorp.domain.collections import ASKED_KINDS
from ragcorp.domain.filters import Condition, Operator
from ragcorp.domain.search.requests import FusionMethod, SearchMode
from ragcorp.domain.search.sources import (
    ARTIFACTS_DENSE,
    ARTIFACTS_FULL_TEXT,
    DENSE,
    FULL_TEXT,
    GRAPH_FACTS,
    GREP,
    HISTORY_DENSE,
    HISTORY_FULL_TEXT,
    MEMORY_DENSE,
    MEMORY_FULL_TEXT,
    STRUCTURE,
)

DEFAULT_DISTANCE = 0.5
"""The specification's ``vector_score_threshold``, for a model that has none of its own."""

SPARSE_POOL, DENSE_POOL, GRAPH_POOL = 4.0, 2.0, 1.0
"""The context engine's pools, in quarters of the window."""


NO_ASKED_KINDS = (Condition(name="artifact_type", operator=Operator.NOT_IN, values=ASKED_KINDS),)
"""What was asked, and answered by us, is no memory: it would bury what people said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileParameters:
    """What the settings say of the profiles. ``overfetch_multiplier`` is in quarters of the window, as pools are.

    ``extra_sources`` are asked in every profile that asks several sources. The numbers of decay, diversification and
    lookback are the context engine's. ``vector_score_threshold`` is the cosine distance from which ``files`` and
    ``vectors`` discard the hits of a dense source.
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

    ``collections`` is ADR-003's search over artifacts and their chunks, ``memory`` the context engine's over memory,
    history and graph, and ``everything`` asks both kinds; a document does not lose its weight with age. ``files`` is
    the file retrieval specification's search of vectors and files, ``grep`` and ``vectors`` are either side alone.
    ``code`` is hybrid search that also finds the symbols, files, headings, clauses and codes that a query names.
    """
    given = parameters or ProfileParameters()
    dense = RetrievalProfile(
        name="dense",
        mode=SearchMode.DENSE,
        sources=(DENSE,),
        stand_in=FULL_TEXT,
        weights=RRF_WEIGHTS,
        thresholds=(A_FIFTH_OF_THE_EVIDENCE,),
        rank_constant=given.rank_constant,
        rank_window_size=given.rank_window_size,
    )
    hybrid = replace(
        dense, name="hybrid", mode=SearchMode.HYBRID, sources=(DENSE, FULL_TEXT, *given.extra_sources), stand_in=None
    )
    sparse = replace(dense, name="sparse", mode=SearchMode.SPARSE, sources=(FULL_TEXT,), stand_in=None)
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
        sources=(DENSE, GREP, *given.extra_sources),
        thresholds=(*vectors.thresholds, HALF_OF_THE_TERMS),
    )
    grep = replace(sparse, name="grep", sources=(GREP,))
    code = replace(hybrid, name="code", sources=(DENSE, FULL_TEXT, STRUCTURE, *given.extra_sources))
    every = (dense, sparse, hybrid, linear, collections, memory, everything, vectors, files, grep, code)
    return {profile.name: profile for profile in every}


def _collections(hybrid: RetrievalProfile, given: ProfileParameters) -> RetrievalProfile:
    sources = (DENSE, FULL_TEXT, ARTIFACTS_DENSE, ARTIFACTS_FULL_TEXT, *given.extra_sources)
    return replace(
        hybrid,
        name="collections",
        sources=sources,
        pools=dict.fromkeys((*sources, MEMORY_DENSE, MEMORY_FULL_TEXT), given.overfetch_multiplier),
        steps=Steps(deduplicate=True),
    )


def _memory(hybrid: RetrievalProfile, given: ProfileParameters) -> RetrievalProfile:
    sparse, dense = (MEMORY_FULL_TEXT, HISTORY_FULL_TEXT), (MEMORY_DENSE, HISTORY_DENSE)
    return replace(
        hybrid,
        name="memory",
        sources=(*sparse, *dense, GRAPH_FACTS, *given.extra_sources),
        thresholds=(),
        pools={
            **dict.fromkeys(sparse, SPARSE_POOL),
            **dict.fromkeys(dense, DENSE_POOL),
            GRAPH_FACTS: GRAPH_POOL,
        },
        lookback_hours={HISTORY_FULL_TEXT: given.lookback_hours},
        narrowing=dict.fromkeys((HISTORY_DENSE, HISTORY_FULL_TEXT), NO_ASKED_KINDS),
        steps=Steps(decay=given.decay, deduplicate=True, diversify=given.diversification),
    )
