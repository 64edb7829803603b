"""One candidate an artifact: the rule of ADR-003."""

from __future__ import annotations

from ragcorp.application.retrieval.steps import deduplication
from ragcorp.application.retrieval.steps.deduplication import MAX_NOTED, collections_of
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Candidate, StepOutcome
from support.retrieval.candidates import candidate, names, scores


def deduplicated(*given: Candidate) -> StepOutcome:
    return deduplication.deduplicated(given)


def whole(name: str, score: float) -> Candidate:
    return candidate(name, score, collection="artifacts", artifact=name)


def test_a_chunk_stays_for_the_whole_artifact_with_its_own_score_and_place() -> None:
    outcome = deduplicated(
        whole("art_abc123", 1 / 62),
        candidate("7", 1 / 64, artifact="other"),
        candidate("9", 1 / 65, artifact="art_abc123"),
    )
    assert names(outcome.candidates) == ["7", "9"]
    assert scores(outcome.candidates) == [1 / 64, 1 / 65]
    assert outcome.candidates[1].notes["deduplication"] == {
        "duplicates": ({"collection": "artifacts", "id": "art_abc123", "score": 1 / 62},),
        "removed": 1,
        "collections": ("artifact_chunks", "artifacts"),
    }
    assert "deduplication" not in outcome.candidates[0].notes
    report = outcome.report
    assert (report.step, report.before, report.after, report.removed) == ("deduplication", 3, 2, 1)


def test_of_two_chunks_the_higher_score_stays_and_of_equal_ones_the_smaller_key() -> None:
    outcome = deduplicated(
        candidate("1", 0.2, artifact="a"),
        candidate("2", 0.3, artifact="a"),
        candidate("4", 0.1, artifact="b"),
        candidate("3", 0.1, artifact="b"),
    )
    assert names(outcome.candidates) == ["2", "3"]


def test_a_weak_chunk_stays_for_a_strong_whole_artifact_whatever_their_order() -> None:
    chunk, artifact = candidate("1", 0.01, artifact="a"), whole("a", 0.9)
    assert names(deduplicated(chunk, artifact).candidates) == ["1"]
    assert names(deduplicated(artifact, chunk).candidates) == ["1"]


def test_what_belongs_to_no_artifact_is_no_duplicate() -> None:
    outcome = deduplicated(
        candidate("1", 0.3, collection="memory", artifact=None),
        candidate("2", 0.3, collection="memory", artifact=None),
        candidate("3", 0.2, collection="graph", artifact=None),
    )
    assert names(outcome.candidates) == ["1", "2", "3"]


def test_the_notes_hold_the_best_few_and_the_count() -> None:
    given = [candidate(f"{number:02}", 1.0 - number / 100, artifact="a") for number in range(20)]
    (kept,) = deduplicated(*given).candidates
    note = kept.notes["deduplication"]
    assert note["removed"] == 19
    assert note["duplicates"] == tuple(
        {"collection": "artifact_chunks", "id": item.key[0], "score": item.score} for item in given[1 : MAX_NOTED + 1]
    )


def test_the_collections_of_a_candidate_are_its_own_and_those_that_made_way_for_it() -> None:
    alone, both = candidate("1", 0.3, artifact="b"), candidate("2", 0.2, artifact="a")
    chunks = [candidate(f"3{number}", 0.1, artifact="a") for number in range(MAX_NOTED)]
    outcome = deduplicated(alone, both, whole("a", 0.01), *chunks)
    result: dict[HitKey, tuple[str, ...]] = {item.key: collections_of(item) for item in outcome.candidates}
    assert result == {alone.key: ("artifact_chunks",), both.key: ("artifact_chunks", "artifacts")}
