"""Candidates for the tests of the steps after fusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.retrieval import CHUNK_COLLECTION, FusedHit, Hit
from ragcorp.domain.search.candidates import Candidate, Description

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def described(*, age_days: float | None = None, **fields: Any) -> Description:
    """Describe a passage that anyone of the workspace may read; ``age_days`` before NOW it began to grow old."""
    moment = None if age_days is None else NOW - timedelta(days=age_days)
    defaults: dict[str, Any] = {
        "collection": CHUNK_COLLECTION,
        "kind": "document",
        "workspace": "default",
        "sensitivity": Sensitivity.NORMAL,
        "visibility_scope": VisibilityScope.WORKSPACE,
        "owner": "",
        "language": "es",
        "occurred_at": moment,
        "ages_from": moment,
    }
    return Description(**(defaults | fields))


def candidate(name: str, score: float, **fields: Any) -> Candidate:
    """Return a candidate of that id: a chunk, unless ``collection`` says otherwise."""
    description = described(**fields)
    collection = description.collection
    hit = (
        Hit(chunk_id=name, score=score)
        if collection == CHUNK_COLLECTION
        else Hit(item_id=name, collection=collection, score=score)
    )
    return Candidate(fused=FusedHit(hit=hit, score=score, contributions=()), score=score, description=description)


def candidates(*scores: float, **fields: Any) -> list[Candidate]:
    """Return chunks "1", "2", ... of these scores."""
    return [candidate(str(number), score, **fields) for number, score in enumerate(scores, start=1)]


def names(ordered: Iterable[Candidate]) -> list[str]:
    return [item.key[0] for item in ordered]


def scores(ordered: Sequence[Candidate]) -> list[float]:
    return [item.score for item in ordered]
