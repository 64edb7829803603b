"""Orders paths by nearness to a query and to an episode, and finds what contains an entity. Pure; orders are total."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import and_, eq

from ragcorp.application.structure.mentions.shapes import Mention, bare, part
from ragcorp.domain.structure.entities import CODE_KINDS, EntityRef
from ragcorp.domain.text.place_words import place_words
from ragcorp.domain.text.word_lists import word_set

MAX_PREVIOUS = 50
"""Latest paths of an episode that are compared."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_AGAIN = re.compile(r" \(\d+\)$")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")

_OF_KIND = word_set("""
    contrato contratos contract contracts agreement agreements acuerdo acuerdos convenio ley leyes law laws decreto
    reglamento norma normativa manual manuales manuals guia guias guide guides documento documentos document documents
    doc docs informe informes report reports politica policy policies anexo anexos factura facturas invoice archivo
    fichero file files src lib app test tests
""")
"""Words for kinds of documents: they identify none."""

Nearness = tuple[bool, float, int, int, int, int, str]
"""Smaller is nearer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Folders and words of a query, and the paths shown before, latest first; all folded."""

    folders: tuple[tuple[str, ...], ...] = ()
    words: frozenset[str] = frozenset()
    previous: tuple[tuple[str, ...], ...] = ()

    def nearness(self, path: str, given: float | None = None) -> Nearness:
        """Return the sort key of a path: in a named folder; with more words of the query (``given`` by the index, which
        knows titles and rarity, else counted in the path); with more leading steps shared with a path shown before, the
        latest first; then fewer folders, a shorter path, the path.
        """
        steps = steps_of(path)
        named = any(_contains(steps, folders) for folders in self.folders)
        shared = [common_prefix(steps, earlier) for earlier in self.previous]
        most = max(shared, default=0)
        latest = shared.index(most) if most else len(shared)
        words = float(len(self.words & _words(path))) if given is None else round(given, 6)
        return (not named, -words, -most, latest, len(steps), len(path), path)


def surroundings(mentions: Iterable[Mention], previous: Sequence[EntityRef]) -> Surroundings:
    """Return the surroundings of a query; ``previous`` are the entities of the episode, latest turn first."""
    all_mentions = tuple(mentions)
    paths = dict.fromkeys(entity.path for entity in previous)
    return Surroundings(
        folders=tuple((*mention.folders, *_last_step(mention)) for mention in all_mentions if mention.folders),
        words=frozenset(word for mention in all_mentions if mention.word for word in [part(mention.word)]) - _OF_KIND,
        previous=tuple(steps_of(path) for path in list(paths)[:MAX_PREVIOUS]),
    )


def near_words(mentions: Iterable[Mention]) -> tuple[str, ...]:
    """Return the words by which the index orders entities of one name: plain words, and those of files and owners."""
    words: dict[str, None] = {}
    for mention in mentions:
        if mention.word is not None:
            words[part(mention.word)] = None
        elif mention.folders or mention.extension or (mention.weak and " " not in mention.text):
            words.update(dict.fromkeys(place_words(" ".join((*mention.folders, mention.text)))))
        if mention.owners:
            words.update(dict.fromkeys(mention.owners))
    return tuple(word for word in words if word not in _OF_KIND)


def steps_of(path: str) -> tuple[str, ...]:
    """Return the folded folders and file of a path."""
    return tuple(part(step) for step in path.replace("\\", "/").split("/") if step not in {"", "."})


def is_within(entity: EntityRef, qualifiers: Sequence[str], *, itself: bool = False) -> bool:
    """Return whether an entity's folders, file and classes, and name with ``itself``, include the qualifiers."""
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


def _last_step(mention: Mention) -> tuple[str, ...]:
    """Return the last step of a path if it may be a folder: it has no file extension."""
    return () if mention.extension else (part(re.split(r"[/\\]", mention.text)[-1]),)


def _contains(steps: tuple[str, ...], folders: tuple[str, ...]) -> bool:
    before = (*steps[:-1], steps[-1].rpartition(".")[0] or steps[-1]) if steps else ()
    return any(before[start : start + len(folders)] == folders for start in range(len(before)))


def common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many first steps two paths share."""
    return sum(accumulate(map(eq, one, other), and_))


def _words(path: str) -> frozenset[str]:
    return frozenset(part(word) for word in _WORD.findall(_HUMP.sub(" ", path)))
