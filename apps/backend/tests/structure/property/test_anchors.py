"""What must hold of anchors, whatever is mentioned, found and shown before."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import NAMESPACE_URL, UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.structure.anchors import AnchorOptions, Resolution, anchors, resolve, wanted_names
from ragcorp.application.structure.mentions.entities import Evidence, names_of
from ragcorp.application.structure.mentions.files import mentioned_files
from ragcorp.application.structure.mentions.parsing import mentions
from ragcorp.domain.ports.structure import Named, SyntaxNeighbours
from ragcorp.domain.structure.entities import CODE_KINDS, EntityKind, EntityRef, FileRef
from ragcorp.domain.structure.hydration import PRIORITIES, Anchor, AnchorReason
from ragcorp.domain.text.entity_names import file_name, stem_name

PATHS = ["auth.go", "src/auth/auth.go", "src/auth/session.py", "src/pay.py", "docs/contrato.md", "docs/old/contrato.md"]
SYMBOLS = ["login", "Session", "Session.validate", "validate_token", "charge", "run"]
QUERIES = [
    "auth.go", "src/auth/auth.go", "`login`", "la función login", "validate token", "Session.validate", "cláusula 4.2",
    "clase Session", "contrato.md", "«Plazo de entrega»", "charge", "src/auth", "session", "FAC-2024-1",
    "auth.go::login",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query against a corpus, with what was shown before."""

    query: str
    entities: tuple[EntityRef, ...]
    previous: tuple[EntityRef, ...]
    neighbours: Mapping[int, SyntaxNeighbours]
    options: AnchorOptions


@st.composite
def corpora(draw: st.DrawFn) -> tuple[EntityRef, ...]:
    entities: list[EntityRef] = []
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=6, unique=True)):
        keys = [(path, EntityKind.FILE, path)]
        if path.endswith(".md"):
            keys += [(f"{path}#clause {item}", EntityKind.CLAUSE, "Plazo de entrega") for item in ("4", "4.2")]
            keys += [(f"{path}#FAC-2024-1", EntityKind.IDENTIFIER, "FAC-2024-1")]
        else:
            names = draw(st.lists(st.sampled_from(SYMBOLS), max_size=4, unique=True))
            kinds = {"Session": EntityKind.CLASS, "Session.validate": EntityKind.METHOD}
            keys += [(f"{path}::{name}", kinds.get(name, EntityKind.FUNCTION), name) for name in names]
        for position, (key, kind, name) in enumerate(keys):
            entities.append(
                EntityRef(
                    id=len(entities), key=key, kind=kind, name=name, container=None, path=path,
                    document_id=uuid5(NAMESPACE_URL, path), external_id=path, position=position, line_start=1,
                    line_end=2, token_count=10, head_tokens=5,
                )
            )  # fmt: skip
    return tuple(entities)


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    entities = draw(corpora())
    some = st.lists(st.sampled_from(entities), max_size=5, unique_by=lambda item: item.id).map(tuple)
    near = [SyntaxNeighbours(calls=draw(some), called_by=draw(some), same_file=draw(some)) for _ in range(2)]
    neighbours = {item.id: near[item.id % 2] for item in entities if item.kind in CODE_KINDS}
    flags = [draw(st.booleans()) or draw(st.booleans()) for _ in range(3)]
    return Asked(
        query=" ".join(draw(st.lists(st.sampled_from(QUERIES), max_size=4))),
        entities=entities,
        previous=draw(some),
        neighbours=neighbours,
        options=AnchorOptions(
            file_mentions=flags[0], symbol_mentions=flags[1], previous=flags[2], neighbours=draw(st.integers(0, 9))
        ),
    )


def found(case: Asked, seed: int = 0) -> tuple[Resolution, tuple[Anchor, ...]]:
    """Return what comes of a case, whose lookups answer in an order that the seed shuffles."""
    chance = random.Random(seed)
    said = mentions(case.query)
    files_wanted, entities_wanted = wanted_names(said, options=case.options)
    files: dict[str, list[FileRef]] = defaultdict(list)
    named: dict[str, list[EntityRef]] = defaultdict(list)
    for path in dict.fromkeys(item.path for item in case.entities):
        ref = FileRef(
            document_id=uuid5(NAMESPACE_URL, path), external_id=path, path=path, is_code=not path.endswith(".md")
        )
        for name in (file_name(path), stem_name(path)):
            files[name].append(ref)
    of_documents: dict[UUID, tuple[EntityRef, ...]] = {}
    for item in case.entities:
        of_documents[item.document_id] = (*of_documents.get(item.document_id, ()), item)
        for name in names_of(item):
            named[name].append(item)
    for same_file in files.values():
        chance.shuffle(same_file)
    for same_name in named.values():
        chance.shuffle(same_name)
    files_of = {name: Named(items=tuple(files[name]), matches=len(files[name])) for name in files_wanted}
    named_of = {name: Named(items=tuple(named[name]), matches=len(named[name])) for name in entities_wanted}
    mentioned = mentioned_files(said, files_of, named_of, previous=case.previous)
    evidence = Evidence(named=named_of, of_documents=of_documents, previous=case.previous)
    resolution = resolve(said, mentioned, evidence, options=case.options)
    return resolution, anchors(
        resolution,
        of_documents=of_documents,
        within={},
        neighbours=case.neighbours,
        previous=case.previous,
        options=case.options,
    )


@given(asked(), st.integers(1, 5))
def test_the_order_of_answers_changes_nothing(case: Asked, seed: int) -> None:
    assert found(case) == found(case, seed)


@given(asked())
def test_an_entity_is_anchored_once_with_all_its_reasons_by_priority(case: Asked) -> None:
    _, made = found(case)
    assert len({item.entity.identity for item in made}) == len(made)
    for item in made:
        assert len(set(item.reasons)) == len(item.reasons) > 0
        keys = [(-PRIORITIES[reason], reason.value) for reason in item.reasons]
        assert keys == sorted(keys)
        assert item.priority == max(PRIORITIES[reason] for reason in item.reasons)
    priorities = [item.priority for item in made]
    assert priorities == sorted(priorities, reverse=True)


@given(asked())
def test_what_was_shown_comes_again_in_its_order(case: Asked) -> None:
    made = [item for item in found(case)[1] if AnchorReason.HYDRATED_PREVIOUS_TURN in item.reasons]
    expected = case.previous if case.options.previous else ()
    assert {item.entity.identity for item in made} == {item.identity for item in expected}
    only = [item.entity.identity for item in made if item.reasons[0] is AnchorReason.HYDRATED_PREVIOUS_TURN]
    assert only == [item.identity for item in expected if item.identity in only]


@given(asked())
def test_flags_and_limits_hold(case: Asked) -> None:
    resolution, made = found(case)
    reasons = {reason for item in made for reason in item.reasons}
    of_files = {AnchorReason.EXPLICIT_FILE_MENTION, AnchorReason.PROBABLE_FILE_MENTION}
    assert case.options.file_mentions or not of_files & reasons
    assert case.options.symbol_mentions or reasons <= {
        AnchorReason.EXPLICIT_FILE_MENTION, AnchorReason.PROBABLE_FILE_MENTION, AnchorReason.HYDRATED_PREVIOUS_TURN,
    }  # fmt: skip
    syntactic = {AnchorReason.AST_CALLS, AnchorReason.AST_CALLED_BY, AnchorReason.AST_SAME_FILE}
    assert sum(set(item.reasons) <= syntactic for item in made) <= case.options.neighbours
    assert resolution.symbols or not reasons & syntactic


@given(asked())
def test_mentions_anchor_one_entity_each_or_a_file_but_its_codes(case: Asked) -> None:
    resolution, made = found(case)
    for weak, reason in ((False, AnchorReason.EXPLICIT_FILE_MENTION), (True, AnchorReason.PROBABLE_FILE_MENTION)):
        documents = {item.file.document_id for item in resolution.files if item.weak is weak}
        expected = {
            item.identity
            for item in case.entities
            if item.document_id in documents and item.kind is not EntityKind.IDENTIFIER
        }
        assert {item.entity.identity for item in made if reason in item.reasons} == expected
    orders = [item.order for item in resolution.entities]
    assert orders == sorted(set(orders))
    assert len({item.message for item in resolution.warnings}) == len(resolution.warnings)
