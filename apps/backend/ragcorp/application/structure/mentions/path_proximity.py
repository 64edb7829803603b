"""How near a path is to what a query and an episode speak of. Pure; every order is total."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragcorp.application.structure.mentions.shapes import Mention, part
from ragcorp.domain.structure.entities import EntityRef
from ragcorp.domain.text.place_words import place_words

MAX_PREVIOUS = 50
"""Paths of an episode that are compared, the latest."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")

_WORDS_OF_KIND = """
    contrato contratos contract contracts agreement agreements acuerdo acuerdos convenio ley leyes law laws decreto
    reglamento norma normativa manual manuales manuals guia guias guide guides documento documentos document documents
    doc docs informe informes report reports politica policy policies anexo anexos factura facturas invoice archivo
    fichero file files src lib app test tests
"""
_OF_KIND = frozenset(_WORDS_OF_KIND.split())
"""Words that say what a document is, not which."""

Nearness = tuple[bool, float, int, int, int, int, str]
"""The smaller, the nearer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Folders that a query names, its words, and the paths that were shown before, the latest first; all folded."""

    folders: tuple[tuple[str, ...], ...] = ()
    words: frozenset[str] = frozenset()
    previous: tuple[tuple[str, ...], ...] = ()

    def nearness(self, path: str, told: float | None = None) -> Nearness:
        """Order paths: in a folder that the query names; with more of its words (as the index told, which knows titles
        and how rare each is; else those of the path); with more leading folders shared with what was shown before (the
        file itself counts as one more), the latest first; then fewer folders, a shorter path, the path.
        """
        steps = steps_of(path)
        named = any(_holds(steps, folders) for folders in self.folders)
        shared = [_shared(steps, each) for each in self.previous]
        most = max(shared, default=0)
        latest = shared.index(most) if most else len(shared)
        words = float(len(self.words & _words(path))) if told is None else round(told, 6)
        return (not named, -words, -most, latest, len(steps), len(path), path)


def surroundings(mentions: Iterable[Mention], previous: Sequence[EntityRef]) -> Surroundings:
    """Gather what is near: ``previous`` is what an episode showed, the latest turn first."""
    said = tuple(mentions)
    paths = dict.fromkeys(entity.path for entity in previous)
    return Surroundings(
        folders=tuple((*each.folders, *_last_step(each)) for each in said if each.folders),
        words=frozenset(word for each in said if each.word for word in [part(each.word)]) - _OF_KIND,
        previous=tuple(steps_of(path) for path in list(paths)[:MAX_PREVIOUS]),
    )


def near_words(mentions: Iterable[Mention]) -> tuple[str, ...]:
    """Return the words by which the index orders what has one name: those that are left, and those of files."""
    words: dict[str, None] = {}
    for each in mentions:
        if each.word is not None:
            words[part(each.word)] = None
        elif each.folders or each.extension or (each.weak and " " not in each.text):
            words.update(dict.fromkeys(place_words(" ".join((*each.folders, each.text)))))
        if each.owners:
            words.update(dict.fromkeys(each.owners))
    return tuple(word for word in words if word not in _OF_KIND)


def steps_of(path: str) -> tuple[str, ...]:
    """Return the folders and the file of a path, folded."""
    return tuple(part(step) for step in path.replace("\\", "/").split("/") if step not in {"", "."})


def _last_step(mention: Mention) -> tuple[str, ...]:
    """Return the last part of a path that may be a folder: that of a file with its extension is none."""
    return () if mention.extension else (part(re.split(r"[/\\]", mention.text)[-1]),)


def _holds(steps: tuple[str, ...], folders: tuple[str, ...]) -> bool:
    before = (*steps[:-1], steps[-1].rpartition(".")[0] or steps[-1]) if steps else ()
    return any(before[start : start + len(folders)] == folders for start in range(len(before)))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            break
        count += 1
    return count


def _words(path: str) -> frozenset[str]:
    return frozenset(part(word) for word in _WORD.findall(_HUMP.sub(" ", path)))
