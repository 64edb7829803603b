"""What contains an entity, by its path and key. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcorp.application.structure.mentions.path_proximity import steps_of
from ragcorp.application.structure.mentions.shapes import bare
from ragcorp.domain.structure.entities import CODE_KINDS, EntityRef

_AGAIN = re.compile(r" \(\d+\)$")


def is_within(entity: EntityRef, qualifiers: Sequence[str], *, itself: bool = False) -> bool:
    """Return whether the folders, file and classes of an entity include the qualifiers in order.

    With ``itself`` its own name counts too: the query names a member of it that is not stored.
    """
    steps = steps_of(entity.path)
    containers: list[frozenset[str]] = [frozenset({step, bare(step)}) for step in steps[:-1]]
    if steps:
        containers.append(frozenset({steps[-1], bare(steps[-1].rpartition(".")[0] or steps[-1])}))
    if entity.kind in CODE_KINDS:
        parts = qualified(entity)
        containers += [frozenset({bare(part)}) for part in (parts if itself else parts[:-1])]
    left = iter(containers)
    return all(any(qualifier in container for container in left) for qualifier in qualifiers)


def qualified(entity: EntityRef) -> list[str]:
    """Return the parts of a symbol's qualified name, the end of its key."""
    whole = without_count(entity.key.removeprefix(f"{entity.path}::"))
    return [part for part in re.split(r"::|[.#]", whole) if part]


def without_count(key: str) -> str:
    """Return a key without the `` (2)`` of a duplicate."""
    return _AGAIN.sub("", key)
