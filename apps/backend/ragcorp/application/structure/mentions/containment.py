"""What an entity stands in, by its path and its key. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcorp.application.structure.mentions.path_proximity import steps_of
from ragcorp.application.structure.mentions.shapes import bare
from ragcorp.domain.structure.entities import CODE_KINDS, EntityRef

_AGAIN = re.compile(r" \(\d+\)$")


def is_within(entity: EntityRef, qualifiers: Sequence[str], *, itself: bool = False) -> bool:
    """Say whether folders, file and classes of an entity hold the qualifiers in their order.

    With ``itself`` its own name counts, too: what is named is a member of it that is no entity.
    """
    steps = steps_of(entity.path)
    containers: list[frozenset[str]] = [frozenset({step, bare(step)}) for step in steps[:-1]]
    if steps:
        containers.append(frozenset({steps[-1], bare(steps[-1].rpartition(".")[0] or steps[-1])}))
    if entity.kind in CODE_KINDS:
        parts = qualified(entity)
        containers += [frozenset({bare(each)}) for each in (parts if itself else parts[:-1])]
    left = iter(containers)
    return all(any(qualifier in container for container in left) for qualifier in qualifiers)


def qualified(entity: EntityRef) -> list[str]:
    """Return the parts of a symbol's qualified name, which its key ends with."""
    whole = without_count(entity.key.removeprefix(f"{entity.path}::"))
    return [part for part in re.split(r"::|[.#]", whole) if part]


def without_count(key: str) -> str:
    """Return a key without the `` (2)`` of a repeated one."""
    return _AGAIN.sub("", key)
