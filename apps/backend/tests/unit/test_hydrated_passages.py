"""What a turn shows becomes passages, and what was found is not repeated after it."""

from __future__ import annotations

from dataclasses import replace

from ragcorp.application.hydrated_passages import hydrated_chunks, not_repeated
from ragcorp.domain.documents import Chunk
from ragcorp.domain.hydration import HydratedEntity, Hydration, HydrationLimits, HydrationUse, PlannedEntity
from ragcorp.domain.principal import Sensitivity
from ragcorp.domain.structure import EntityText
from support.hydration import ref


def hydrated(key: str, content: str, *, line: int, cut: bool = False) -> HydratedEntity:
    return HydratedEntity(
        planned=PlannedEntity(
            entity=replace(ref(key), line_start=line, line_end=line),
            reasons=("anchor:explicit_file_mention",),
            priority=100,
            tokens=1,
            position=1,
            cut=cut,
        ),
        text=EntityText(
            content=content,
            head="the head",
            artifact_hash=b"",
            title="Auth",
            language="en",
            sensitivity=Sensitivity.CONFIDENTIAL,
            chunk_id="7",
        ),
    )


def turn(*entities: HydratedEntity) -> Hydration:
    return Hydration(
        episode_id="e",
        turn=1,
        entities=entities,
        dropped=(),
        warnings=(),
        use=HydrationUse(limits=HydrationLimits()),
    )


def found(content: str, like: Chunk) -> Chunk:
    return replace(like, id="9", content=content)


def test_an_entity_is_cited_by_its_chunk_path_and_lines() -> None:
    (chunk,) = hydrated_chunks(turn(hydrated("auth.go::login", "func login() {}", line=4)))
    assert (chunk.id, chunk.content, chunk.source_path, chunk.line_start) == ("7", "func login() {}", "auth.go", 4)
    assert (chunk.title, chunk.sensitivity, chunk.of_document) == ("Auth", Sensitivity.CONFIDENTIAL, True)
    assert hydrated_chunks(None) == ()


def test_a_cut_entity_is_its_head() -> None:
    (chunk,) = hydrated_chunks(turn(hydrated("auth.go::login", "all of it", line=1, cut=True)))
    assert chunk.content == "the head"


def test_a_chunk_that_shown_entities_hold_alone_or_together_is_left_out() -> None:
    shown = hydrated_chunks(
        turn(hydrated("a.go::two", "two\n  words", line=2), hydrated("a.go::one", "one\nword", line=1))
    )
    texts = ("one word", "two words", "one word\n\ntwo words", "word two", "two words one word", "three")
    kept = [chunk.content for chunk in not_repeated([found(text, shown[0]) for text in texts], shown)]
    assert kept == ["two words one word", "three"]


def test_another_documents_chunk_of_the_same_text_stays() -> None:
    (shown,) = hydrated_chunks(turn(hydrated("a.go::one", "one", line=1)))
    (other,) = hydrated_chunks(turn(hydrated("b.go::one", "one", line=1)))
    assert list(not_repeated([other], [shown])) == [other]
    assert list(not_repeated([other], [])) == [other]
