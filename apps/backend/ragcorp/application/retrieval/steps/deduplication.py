"""Deduplication: one candidate for each artifact.

A chunk is preferred over the whole artifact, being more specific; then the higher score; then the smaller key
(ADR-003). It keeps its own score, and the rank of that score, even if a dropped candidate scored higher.
"""

from collections.abc import Sequence

from ragcorp.domain.retrieval import CHUNK_COLLECTION
from ragcorp.domain.search.candidates import Candidate, StepOutcome

STEP = "deduplication"
FORMULA = "one an artifact: chunk before whole artifact, then the higher score, then the smaller key"

MAX_NOTED = 5


def deduplicated(candidates: Sequence[Candidate]) -> StepOutcome:
    """Return the remaining candidates by score, ties by key. A candidate without an artifact is never a duplicate.

    Each gets a note with the collections of its artifact, the number of duplicates and the best of them.

    >>> deduplicated([]).report.removed
    0
    """
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.key))
    groups: dict[str, list[Candidate]] = {}
    for candidate in ranked:
        artifact = candidate.description.artifact
        if artifact is not None:
            groups.setdefault(artifact, []).append(candidate)
    staying = {artifact: next(filter(_is_chunk, group), group[0]) for artifact, group in groups.items()}
    kept = []
    for candidate in ranked:
        artifact = candidate.description.artifact
        if artifact is None:
            kept.append(candidate)
        elif staying[artifact] is candidate:
            kept.append(_noted(candidate, groups[artifact]))
    return StepOutcome.of(STEP, kept, before=len(ranked), formula=FORMULA)


def collections_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the collections of a candidate: its own, then those of its duplicates.

    >>> from ragcorp.domain.retrieval import FusedHit, Hit
    >>> from ragcorp.domain.search.candidates import Description
    >>> from ragcorp.domain.documents import VisibilityScope
    >>> from ragcorp.domain.principal import Sensitivity
    >>> description = Description(
    ...     collection='memory', kind='fact', workspace='default', sensitivity=Sensitivity.NORMAL,
    ...     visibility_scope=VisibilityScope.PRIVATE, owner='marta', language='es',
    ... )
    >>> fused = FusedHit(hit=Hit(item_id='7', collection='memory', score=0.5), score=0.5, contributions=())
    >>> collections_of(Candidate(fused=fused, score=0.5, description=description))
    ('memory',)
    """
    noted = candidate.notes.get(STEP, {}).get("collections")
    return noted if isinstance(noted, tuple) else (candidate.description.collection,)


def _is_chunk(candidate: Candidate) -> bool:
    return candidate.description.collection == CHUNK_COLLECTION


def _noted(candidate: Candidate, group: Sequence[Candidate]) -> Candidate:
    dropped = [other for other in group if other is not candidate]
    if not dropped:
        return candidate
    duplicates = tuple(
        {"collection": other.description.collection, "id": other.key[0], "score": other.score}
        for other in dropped[:MAX_NOTED]
    )
    collections = tuple(dict.fromkeys(member.description.collection for member in (candidate, *dropped)))
    return candidate.noted(STEP, duplicates=duplicates, removed=len(dropped), collections=collections)
