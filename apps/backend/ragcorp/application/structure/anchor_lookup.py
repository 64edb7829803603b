"""Looks up the mentions of a query and the earlier entities of an episode, and returns anchors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from ragcorp.application.structure.anchors import AnchorOptions, Resolution, anchors, resolve, wanted_names
from ragcorp.application.structure.mentions.entities import Evidence
from ragcorp.application.structure.mentions.files import FEW_CHUNKS, mentioned_files
from ragcorp.application.structure.mentions.path_proximity import near_words
from ragcorp.application.structure.mentions.shapes import Mention
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.filters import Filters
from ragcorp.domain.ports.episodes import EpisodeStore
from ragcorp.domain.ports.file_search import TermFrequencies
from ragcorp.domain.ports.structure import Named, StructureIndex, SyntaxNeighbours
from ragcorp.domain.principal import Principal
from ragcorp.domain.structure.entities import EntityRef, FileRef
from ragcorp.domain.structure.hydration import Anchor, HydrationWarning, WarningCode
from ragcorp.domain.text.place_words import place_words

Match = TypeVar("Match", FileRef, EntityRef)

MOST_PREVIOUS = 1000
"""Maximum entities of earlier turns, latest turns first."""

MOST_FILES = 50
MOST_NAMED = 200
"""Maximum entities of one name: enough to include the nearest."""

MOST_OF_DOCUMENT = 1000
MOST_WITHIN = 1000
MOST_NEIGHBOURS = 8
MOST_SHOWN = 50
"""Paths of earlier turns whose words order the matches of a very common name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """Anchors and warnings; ``episodes_error`` is the error of reading earlier turns, if any."""

    anchors: tuple[Anchor, ...]
    warnings: tuple[HydrationWarning, ...] = ()
    episodes_error: StorageUnavailableError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorLookup:
    """Resolves mentions with at most eleven port calls, usually seven.

    In parallel: files, names and the episode (two calls); then again the names with too many matches, ordered by the
    episode; the frequencies of plain words that are names, and the number of chunks; the entities of the mentioned
    files; in parallel the parts and the neighbours of anchors. A query without a possible name costs the episode only.
    """

    index: StructureIndex
    episodes: EpisodeStore | None
    frequencies: TermFrequencies
    options: AnchorOptions

    async def find(
        self, mentions: Sequence[Mention], *, episode_id: str | None = None, principal: Principal, filters: Filters
    ) -> AnchorSet:
        """Return the anchors. Raises StorageUnavailableError; unreadable earlier turns are left out instead."""
        files_wanted, entities_wanted = wanted_names(mentions, options=self.options)
        look = _Look(index=self.index, principal=principal, filters=filters, near=near_words(mentions))
        async with _parallel() as group:
            naming_files = group.create_task(look.files(files_wanted))
            naming = group.create_task(look.named(entities_wanted))
            remembering = group.create_task(self._earlier(episode_id, look, needed=bool(mentions)))
        previous, episodes_error = remembering.result()
        shown = tuple(dict.fromkeys(entity.path for entity in previous))[:MOST_SHOWN]
        async with _parallel() as group:
            again_files = group.create_task(look.again(look.files, naming_files.result(), shown))
            again = group.create_task(look.again(look.named, naming.result(), shown))
        named, files_by_name = again.result(), again_files.result()
        # plain words that are also names: their rarity decides whether they are meant as names
        names = {*named, *files_by_name}
        words = [mention.word for mention in mentions if mention.word and not names.isdisjoint(mention.names)]
        frequencies, chunks = await self._counted(words, principal)
        files = mentioned_files(
            mentions, files_by_name, named, previous=previous, frequencies=frequencies, chunks=chunks
        )
        of_documents = await look.of_documents(files.documents)
        evidence = Evidence(
            named=named, of_documents=of_documents, previous=previous, frequencies=frequencies, chunks=chunks
        )
        resolution = resolve(mentions, files, evidence, options=self.options)
        async with _parallel() as group:
            inside = group.create_task(look.within(resolution.containers))
            near = group.create_task(look.neighbours(resolution.symbols))
        return AnchorSet(
            anchors=anchors(
                resolution,
                of_documents=of_documents,
                within=inside.result(),
                neighbours=near.result(),
                previous=previous,
                options=self.options,
            ),
            warnings=(*resolution.warnings, *_not_listed(of_documents, inside.result(), resolution, previous)),
            episodes_error=episodes_error,
        )

    async def _counted(self, words: Sequence[str], principal: Principal) -> tuple[Mapping[str, int], int]:
        """Return the number of chunks with each word, and of all chunks where that decides."""
        if not words:
            return {}, 0
        counted = await self.frequencies.document_frequencies(" ".join(words), principal=principal)
        if max(counted.values(), default=0) <= FEW_CHUNKS:
            return counted, 0
        return counted, await self.frequencies.count_chunks(principal=principal)

    async def _earlier(
        self, episode_id: str | None, look: _Look, *, needed: bool
    ) -> tuple[tuple[EntityRef, ...], StorageUnavailableError | None]:
        """Return the entities of earlier turns, latest first, which also decide between files, and the error if any."""
        if episode_id is None or self.episodes is None or not (needed or self.options.previous):
            return (), None
        try:
            shown = await self.episodes.hydrated(episode_id, principal=look.principal, limit=MOST_PREVIOUS)
        except StorageUnavailableError as error:
            return (), error
        if not shown:
            return (), None
        existing = await self.index.existing(shown, principal=look.principal, filters=look.filters)
        return tuple(existing[identity] for identity in shown if identity in existing), None


def _not_listed(
    of_documents: Mapping[UUID, tuple[EntityRef, ...]],
    within: Mapping[int, tuple[EntityRef, ...]],
    resolution: Resolution,
    previous: Sequence[EntityRef],
) -> Iterator[HydrationWarning]:
    """Yield a warning for each truncated list."""
    for file in resolution.files:
        if len(of_documents.get(file.file.document_id, ())) >= MOST_OF_DOCUMENT:
            yield _truncated(file.file.path or file.file.external_id, MOST_OF_DOCUMENT, file.file.document_id)
    for container in resolution.containers:
        if len(within.get(container.id, ())) >= MOST_WITHIN:
            yield _truncated(container.key, MOST_WITHIN, container.document_id, container.key)
    if len(previous) >= MOST_PREVIOUS:
        yield _truncated("What earlier turns showed", MOST_PREVIOUS)


def _truncated(subject: str, limit: int, document_id: UUID | None = None, key: str | None = None) -> HydrationWarning:
    return HydrationWarning(
        code=WarningCode.NOT_LISTED,
        message=f"{subject} has {limit} or more entities: the others were not looked at.",
        key=key,
        document_id=document_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The index for one caller; empty lookups cost no call."""

    index: StructureIndex
    principal: Principal
    filters: Filters
    near: tuple[str, ...] = ()

    async def files(self, names: Sequence[str], shown: Sequence[str] = ()) -> Mapping[str, Named[FileRef]]:
        if not names:
            return {}
        return await self.index.files(
            names, principal=self.principal, filters=self.filters, limit=MOST_FILES, near=self.near, shown=shown
        )

    async def named(self, names: Sequence[str], shown: Sequence[str] = ()) -> Mapping[str, Named[EntityRef]]:
        if not names:
            return {}
        return await self.index.named(
            names, principal=self.principal, filters=self.filters, limit=MOST_NAMED, near=self.near, shown=shown
        )

    async def again(
        self,
        lookup: Callable[[Sequence[str], Sequence[str]], Awaitable[Mapping[str, Named[Match]]]],
        named: Mapping[str, Named[Match]],
        shown: Sequence[str],
    ) -> Mapping[str, Named[Match]]:
        """Look up truncated names again, ordered by the words of the paths shown before."""
        truncated = [name for name, entry in named.items() if shown and entry.matches > len(entry.items)]
        words = tuple(dict.fromkeys(word for path in shown for word in place_words(path)))
        return {**named, **await lookup(truncated, words)}

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
async def _parallel() -> AsyncIterator[asyncio.TaskGroup]:
    """Yield a task group that raises the first error itself, without an exception group."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
