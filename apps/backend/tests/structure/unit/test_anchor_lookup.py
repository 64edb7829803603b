"""Which lookups a query costs, and by what the nearest of very many are found."""

from __future__ import annotations

from typing import Any

import pytest

from ragcorp.application.structure.anchor_lookup import (
    MOST_NAMED,
    MOST_OF_DOCUMENT,
    MOST_PREVIOUS,
    MOST_WITHIN,
    AnchorLookup,
)
from ragcorp.application.structure.anchors import AnchorOptions
from ragcorp.application.structure.mentions.parsing import mentions
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import EntityIdentity, EntityKind, EntityRef
from ragcorp.domain.structure.hydration import WarningCode
from support.hydration.in_memory import MemoryFrequencies, MemoryIndex, ref
from support.hydration.world import ANN

pytestmark = pytest.mark.anyio

MANY = MOST_NAMED + 30


class Shown:
    """Episodes of which each showed the same."""

    def __init__(self, *identities: EntityIdentity) -> None:
        self._identities = identities

    async def hydrated(self, episode_id: str, *, principal: Principal, limit: int) -> tuple[EntityIdentity, ...]:
        return self._identities[:limit]


def contracts() -> list[EntityRef]:
    """More contracts with a section of one name than a lookup returns; the last two by path are those in question."""
    paths = [f"a/contrato-empresa{number:03}.md" for number in range(MANY)]
    paths += ["zzz/largo/mas/contrato-vidrieras-cristales.md", "zzz/otro/contrato-molino.md"]
    return [ref(f"{path}#Garantía", kind=EntityKind.SECTION) for path in paths]


def lookup(index: MemoryIndex, frequencies: MemoryFrequencies) -> AnchorLookup:
    return anchors_after(Shown(), index=index, frequencies=frequencies)


def anchors_after(
    shown: Any, *, index: MemoryIndex, frequencies: MemoryFrequencies, options: AnchorOptions | None = None
) -> AnchorLookup:
    return AnchorLookup(index=index, episodes=shown, frequencies=frequencies, options=options or AnchorOptions())


@pytest.mark.parametrize(
    "query",
    ["«Garantía» de zzz/largo/mas", "«Garantía» del contrato de vidrieras", "la cláusula «Garantía» de Cristales"],
)
async def test_the_nearest_of_more_than_are_looked_up_is_found(query: str) -> None:
    index = MemoryIndex(*contracts())
    result = await lookup(index, MemoryFrequencies()).find(mentions(query), principal=ANN, filters=())
    assert [item.entity.path for item in result.anchors] == ["zzz/largo/mas/contrato-vidrieras-cristales.md"]


async def test_what_was_shown_before_is_nearest_past_the_limit_of_a_name() -> None:
    shown = ref("zzz/otro/contrato-molino.md#Objeto", kind=EntityKind.SECTION)
    index = MemoryIndex(*contracts(), shown)
    options = AnchorOptions(previous=False)
    result = await anchors_after(
        Shown(shown.identity), index=index, frequencies=MemoryFrequencies(), options=options
    ).find(mentions("«Garantía»"), episode_id="e", principal=ANN, filters=())
    assert [item.entity.path for item in result.anchors] == ["zzz/otro/contrato-molino.md"]


@pytest.mark.parametrize(("frequency", "chunks", "anchored"), [(10, 0, 1), (11, 0, 0), (11, 1099, 0), (11, 1100, 1)])
async def test_a_word_is_rare_among_many_chunks(frequency: int, chunks: int, anchored: int) -> None:
    index = MemoryIndex(ref("cook.py::supper"))
    result = await lookup(index, MemoryFrequencies(frequency, chunks)).find(
        mentions("Fix the supper bug"), principal=ANN, filters=()
    )
    assert len(result.anchors) == anchored


async def test_a_list_that_is_cut_is_told_of() -> None:
    index = MemoryIndex(*(ref(f"many.py::f{number}", position=number) for number in range(MOST_OF_DOCUMENT + 1)))
    result = await lookup(index, MemoryFrequencies()).find(mentions("many.py"), principal=ANN, filters=())
    (warning,) = result.warnings
    assert (warning.code, warning.document_id) == (WarningCode.NOT_LISTED, result.anchors[0].entity.document_id)
    assert len(result.anchors) == MOST_OF_DOCUMENT


@pytest.mark.parametrize(("methods", "told"), [(120, 0), (MOST_WITHIN, 1)])
async def test_a_class_comes_with_all_its_methods_or_says_that_it_does_not(methods: int, told: int) -> None:
    whole = ref("big.py::Big", kind=EntityKind.CLASS)
    parts = [
        ref(f"big.py::Big.m{number}", position=number + 1, kind=EntityKind.METHOD, container="big.py::Big")
        for number in range(methods)
    ]
    result = await lookup(MemoryIndex(whole, *parts), MemoryFrequencies()).find(
        mentions("explain class `Big`"), principal=ANN, filters=()
    )
    assert len(result.anchors) == methods + 1
    assert [warning.code for warning in result.warnings] == [WarningCode.NOT_LISTED] * told


async def test_of_what_was_shown_a_thousand_stay_and_more_is_told_of() -> None:
    shown = [ref(f"many.py::f{number}", position=number) for number in range(MOST_PREVIOUS + 1)]
    before = Shown(*(item.identity for item in shown))
    anchors = anchors_after(before, index=MemoryIndex(*shown), frequencies=MemoryFrequencies())
    result = await anchors.find((), episode_id="e", principal=ANN, filters=())
    assert len(result.anchors) == MOST_PREVIOUS
    assert [warning.code for warning in result.warnings] == [WarningCode.NOT_LISTED]
