"""Lines of the graph's JSONL: what they may be, and that nothing else than a RagcorpError comes of any other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.application.graph.load import OF_ENTITIES, OF_FACTS, read_draft
from ragcorp.domain.documents import VisibilityScope
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError
from ragcorp.domain.graph import EntityDraft, EntityReference, FactDraft, Provenance, Readers, fact_name
from ragcorp.domain.principal import Sensitivity
from support.graph.facts import day


def read(**line: Any) -> EntityDraft | FactDraft:
    return read_draft(line, default_language="es")


def test_an_entity_with_all_that_it_may_have() -> None:
    draft = read(
        type="entity",
        external_id="e",
        name=" Ana\t López ",
        kind="person",
        aliases=["Anita", "Anita"],
        description="Compras.\n",
        language="en",
        sensitivity="public",
        visibility_scope="group",
        owner="legal",
        metadata={"n": 1},
    )
    assert isinstance(draft, EntityDraft)
    assert (draft.name, draft.aliases, draft.description) == ("Ana López", ("Anita",), "Compras.")
    attributes = draft.attributes
    assert (attributes.artifact_type, attributes.language, attributes.sensitivity) == (
        "person",
        "en",
        Sensitivity.PUBLIC,
    )
    assert (attributes.visibility_scope, attributes.owner) == (VisibilityScope.GROUP, "legal")


def test_a_fact_with_all_that_it_may_have() -> None:
    draft = read(
        type="fact",
        subject={"external_id": "e"},
        object={"name": "Goa", "kind": "place"},
        predicate="viaja  a",
        weight=0,
        valid_from="2026-03-01",
        valid_to="2026-03-02T10:00:00+02:00",
        provenance={"document": "a.md", "chunk_index": 0},
        quote="viaja a Goa",
    )
    assert isinstance(draft, FactDraft)
    assert draft.subject == EntityReference(external_id="e", field="subject")
    assert draft.object == EntityReference(name="Goa", kind="place", field="object")
    assert (draft.predicate, draft.weight, draft.attributes.language) == ("viaja a", 0.0, "es")
    assert draft.valid_from == day(2026, 3, 1)
    assert draft.valid_to is not None
    assert draft.valid_to.isoformat() == "2026-03-02T08:00:00+00:00"
    assert draft.provenance == Provenance(document="a.md", chunk_index=0)


FACT = {"type": "fact", "subject": "A", "object": "B", "predicate": "x"}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({}, "type"),
        ({"type": "entity"}, "name"),
        ({"type": "entity", "name": 7}, "name"),
        ({"type": "entity", "name": "\u200b"}, "name"),
        ({"type": "entity", "name": "A", "aliases": "B"}, "aliases"),
        ({"type": "entity", "name": "A", "sensitivity": "top"}, "sensitivity"),
        ({"type": "entity", "name": "A", "visibility_scope": "all"}, "visibility_scope"),
        ({"type": "entity", "name": "A", "metadata": []}, "metadata"),
        ({"type": "entity", "name": "A", "weight": 1}, "line"),
        ({**FACT, "subject": None}, "subject"),
        ({**FACT, "subject": {"id": 1}}, "subject"),
        ({**FACT, "object": {"name": 1}}, "object.name"),
        ({**FACT, "weight": True}, "weight"),
        ({**FACT, "weight": 10**400}, "weight"),
        ({**FACT, "weight": -0.1}, "weight"),
        ({**FACT, "valid_to": "pronto"}, "valid_to"),
        ({**FACT, "provenance": {}}, "provenance"),
        ({**FACT, "provenance": {"document": "a", "chunk_id": "1"}}, "provenance"),
        ({**FACT, "provenance": {"document": "a", "chunk_index": True}}, "provenance.chunk_index"),
        ({**FACT, "provenance": {"document": "a", "chunk_index": -1}}, "provenance.chunk_index"),
        ({**FACT, "provenance": {"chunk_id": "1e3"}}, "provenance.chunk_id"),
    ],
)
def test_a_bad_line_names_its_field_and_a_remedy(line: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read(**line)
    assert caught.value.field == field
    assert caught.value.remedy


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner))


@given(
    kind=st.sampled_from(["entity", "fact"]),
    line=st.dictionaries(st.sampled_from(sorted(OF_ENTITIES | OF_FACTS - {"type"})) | st.text(max_size=5), VALUES),
)
def test_no_line_raises_anything_else(kind: str, line: dict[str, Any]) -> None:
    try:
        draft = read(**{**line, "type": kind})
    except RagcorpError as error:
        assert error.field
    else:
        assert isinstance(draft, EntityDraft | FactDraft)


def test_the_name_of_a_fact_depends_on_all_that_it_says_and_on_nothing_else() -> None:
    said: dict[str, Any] = {
        "subject": "person:ana",
        "predicate": "vive en",
        "object": "place:goa",
        "valid_from": None,
        "document_id": None,
        "chunk_index": None,
        "readers": Readers.named(1, "workspace", ""),
    }
    assert fact_name(**said) == fact_name(**{**said, "predicate": "Vive  en"})
    others = {"subject": "x", "predicate": "x", "object": "x", "valid_from": day(2026), "chunk_index": 0}
    others["readers"] = Readers.named(1, "private", "ana")
    names = {fact_name(**said), *(fact_name(**{**said, name: value}) for name, value in others.items())}
    assert len(names) == 7
