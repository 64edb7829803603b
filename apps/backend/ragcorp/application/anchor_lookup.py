"""Looks up what a query mentions and what an episode showed before, and makes anchors of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from ragcorp.application.anchors import AnchorOptions, anchors, mentioned_files, resolve, wanted_names
from ragcorp.application.mentions import Mention
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.filters import Filters
from ragcorp.domain.hydration import Anchor, HydrationWarning
from ragcorp.domain.ports.episodes import EpisodeStore
from ragcorp.domain.ports.file_search import TermFrequencies
from ragcorp.domain.ports.structure import Named, StructureIndex, SyntaxNeighbours
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure import EntityRef, FileRef

MOST_PREVIOUS = 200
"""Entities of earlier turns that stay, those of the latest turns first."""

MOST_FILES = 50
MOST_NAMED = 200
"""Of one name: enough that the nearest is among them."""

MOST_OF_DOCUMENT = 200
MOST_WITHIN = 200
MOST_NEIGHBOURS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAnchors:
    """``episodes_out`` is why earlier turns could not be read, None where they could."""

    anchors: tuple[Anchor, ...]
    warnings: tuple[HydrationWarning, ...] = ()
    episodes_out: StorageUnavailableError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    entities: tuple[EntityRef, ...] = ()
    out: StorageUnavailableError | None = None


class AnchorLookup:
    """At most eight calls of the ports: side by side files, names and the episode (whose two follow one another); how
    rare the plain words are that are names, too; the entities of the files in question; side by side what is inside an
    anchor and what is near it.

    A query without a word that could be a name costs the two of the episode.
    """

    def __init__(
        self,
        *,
        index: StructureIndex,
        episodes: EpisodeStore | None,
        frequencies: TermFrequencies,
        options: AnchorOptions,
    ) -> None:
        self._index = index
        self._episodes = episodes
        self._frequencies = frequencies
        self._options = options

    async def find(
        self, said: Sequence[Mention], *, episode_id: str | None = None, principal: Principal, filters: Filters
    ) -> FoundAnchors:
        """Return the anchors of what a query mentions (``said``) and of what its episode showed before.

        Raises StorageUnavailableError, though not for earlier turns that cannot be read: they are left out.
        """
        wanted = wanted_names(said, options=self._options)
        look = _Look(index=self._index, principal=principal, filters=filters)
        async with _side_by_side() as group:
            naming_files = group.create_task(look.files(wanted.files))
            naming = group.create_task(look.named(wanted.entities))
            remembering = group.create_task(self._earlier(episode_id, look, needed=bool(said)))
        named, earlier = naming.result(), remembering.result()
        frequencies = await self._counted(_found_words(said, {*named, *naming_files.result()}), principal)
        files = mentioned_files(said, naming_files.result(), named, previous=earlier.entities, frequencies=frequencies)
        of_documents = await look.of_documents(files.documents)
        resolution = resolve(
            said,
            files,
            named,
            of_documents=of_documents,
            previous=earlier.entities,
            frequencies=frequencies,
            options=self._options,
        )
        async with _side_by_side() as group:
            inside = group.create_task(look.within(resolution.containers))
            near = group.create_task(look.neighbours(resolution.symbols))
        return FoundAnchors(
            anchors=anchors(
                resolution,
                of_documents=of_documents,
                within=inside.result(),
                neighbours=near.result(),
                previous=earlier.entities,
                options=self._options,
            ),
            warnings=resolution.warnings,
            episodes_out=earlier.out,
        )

    async def _counted(self, words: Sequence[str], principal: Principal) -> Mapping[str, int]:
        if not words:
            return {}
        return await self._frequencies.document_frequencies(" ".join(words), principal=principal)

    async def _earlier(self, episode_id: str | None, look: _Look, *, needed: bool) -> _Earlier:
        """Return what earlier turns showed, latest first. It also tells which of several files is the nearest."""
        if episode_id is None or self._episodes is None or not (needed or self._options.previous):
            return _Earlier()
        try:
            shown = await self._episodes.hydrated(episode_id, principal=look.principal, limit=MOST_PREVIOUS)
        except StorageUnavailableError as error:
            return _Earlier(out=error)
        if not shown:
            return _Earlier()
        known = await self._index.known(shown, principal=look.principal, filters=look.filters)
        return _Earlier(entities=tuple(known[identity] for identity in shown if identity in known))


def _found_words(said: Sequence[Mention], found: Collection[str]) -> list[str]:
    """Return the plain words that are names, too: how rare they are tells whether they are meant so."""
    names = frozenset(found)
    return [each.word for each in said if each.word is not None and not names.isdisjoint(each.names)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The index as one caller sees it; nothing is asked for what is empty."""

    index: StructureIndex
    principal: Principal
    filters: Filters

    async def files(self, names: Sequence[str]) -> Mapping[str, Named[FileRef]]:
        if not names:
            return {}
        return await self.index.files(names, principal=self.principal, filters=self.filters, limit=MOST_FILES)

    async def named(self, names: Sequence[str]) -> Mapping[str, Named[EntityRef]]:
        if not names:
            return {}
        return await self.index.named(names, principal=self.principal, filters=self.filters, limit=MOST_NAMED)

    async def of_documents(self, ids: Sequence[UUID]) -> Mapping[UUID, tuple[EntityRef, ...]]:
        if not ids:
            return {}
        return await self.index.of_documents(
            ids, principal=self.principal, filters=self.filters, limit=MOST_OF_DOCUMENT
        )

    async def within(self, entities: Sequence[EntityRef]) -> Mapping[int, tuple[EntityRef, ...]]:
        return await self.index.within(entities, principal=self.principal, limit=MOST_WITHIN) if entities else {}

    async def neighbours(self, entities: Sequence[EntityRef]) -> Mapping[int, SyntaxNeighbours]:
        if not entities:
            return {}
        return await self.index.neighbours(
            entities, principal=self.principal, filters=self.filters, limit=MOST_NEIGHBOURS
        )


@asynccontextmanager
async def _side_by_side() -> AsyncIterator[asyncio.TaskGroup]:
    """Yield a group of tasks that ends with the first error of one of them, and raises that error itself."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
