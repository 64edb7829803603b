"""What an index would answer of a few entities, and the anchors of a query over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log
from uuid import NAMESPACE_URL, UUID, uuid5
from zlib import crc32

from ragcorp.application.structure.anchors import AnchorOptions, Resolution, anchors, resolve, wanted_names
from ragcorp.application.structure.mentions.entities import Evidence, names_of
from ragcorp.application.structure.mentions.files import mentioned_files
from ragcorp.application.structure.mentions.parsing import mentions
from ragcorp.application.structure.mentions.path_proximity import near_words
from ragcorp.domain.ports.structure import Named, SyntaxNeighbours
from ragcorp.domain.structure.entities import EntityKind, EntityRef, FileRef
from ragcorp.domain.structure.hydration import Anchor, AnchorReason, WarningCode
from ragcorp.domain.text.entity_names import file_name, stem_name
from ragcorp.domain.text.place_words import place_words


def entity(key: str, kind: EntityKind = EntityKind.FUNCTION, position: int = 0, name: str | None = None) -> EntityRef:
    """Return an entity whose path is what its key begins with."""
    path = key.partition("::")[0].partition("#")[0]
    last = key.rpartition("::")[2].rpartition("#")[2].rpartition(".")[2]
    return EntityRef(
        id=crc32(key.encode()),
        key=key,
        kind=kind,
        name=last if name is None else name,
        container=None,
        path=path,
        document_id=document(path),
        external_id=path,
        position=position,
        line_start=1,
        line_end=9,
        token_count=100,
        head_tokens=10,
    )


def document(path: str) -> UUID:
    return uuid5(NAMESPACE_URL, path)


def clause(path: str, number: str, title: str = "", position: int = 0) -> EntityRef:
    return entity(f"{path}#clause {number}", EntityKind.CLAUSE, position, title or f"Cláusula {number}")


@dataclass
class Corpus:
    """What an index would answer; ``limit`` is how many of a name, the nearest by words of path and title."""

    entities: list[EntityRef]
    extra_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    neighbours: Mapping[str, SyntaxNeighbours] = field(default_factory=dict)
    inside: Mapping[str, tuple[EntityRef, ...]] = field(default_factory=dict)
    frequencies: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0
    limit: int = 50
    titles: Mapping[str, str] = field(default_factory=dict)
    near: tuple[str, ...] = ()
    resolution: Resolution = field(default_factory=Resolution)

    def anchors(
        self, query: str, previous: Iterable[EntityRef] = (), options: AnchorOptions | None = None
    ) -> list[tuple[str, list[AnchorReason]]]:
        return [(item.entity.key, list(item.reasons)) for item in self.found(query, previous, options)]

    def keys(self, query: str, previous: Iterable[EntityRef] = (), options: AnchorOptions | None = None) -> list[str]:
        return [item.entity.key for item in self.found(query, previous, options)]

    def found(
        self, query: str, previous: Iterable[EntityRef] = (), options: AnchorOptions | None = None
    ) -> tuple[Anchor, ...]:
        chosen, shown, said = options or AnchorOptions(), tuple(previous), mentions(query)
        files_wanted, entities_wanted = wanted_names(said, options=chosen)
        self.near = near_words(said)
        named = self._named(entities_wanted)
        files = mentioned_files(
            said, self._files(files_wanted), named, previous=shown, frequencies=self.frequencies, chunks=self.chunks
        )
        of_documents = {
            item: tuple(entity for entity in self.entities if entity.document_id == item) for item in files.documents
        }
        evidence = Evidence(
            named=named, of_documents=of_documents, previous=shown, frequencies=self.frequencies, chunks=self.chunks
        )
        self.resolution = resolve(said, files, evidence, options=chosen)
        return anchors(
            self.resolution,
            of_documents=of_documents,
            within={item.id: self.inside.get(item.key, ()) for item in self.resolution.containers},
            neighbours={
                item.id: self.neighbours[item.key] for item in self.resolution.symbols if item.key in self.neighbours
            },
            previous=shown,
            options=chosen,
        )

    @property
    def warnings(self) -> list[str]:
        told = {WarningCode.AMBIGUOUS_MENTION: " names ", WarningCode.NOT_FOUND: " is not found in "}
        assert all(told[item.code] in item.message for item in self.resolution.warnings)
        return [item.message for item in self.resolution.warnings]

    def _named(self, names: Iterable[str]) -> dict[str, Named[EntityRef]]:
        results = {}
        for name in names:
            of_name = [item for item in self.entities if name in self._names(item)]
            near = self._nearness([item.path for item in of_name])
            of_name.sort(key=lambda item: (-near[item.path], item.path, item.position))
            kept = of_name[: self.limit]
            weights = tuple(near[item.path] for item in kept)
            results[name] = Named(items=tuple(kept), matches=len(of_name), nearness=weights if self.near else ())
        return results

    def _nearness(self, paths: list[str]) -> dict[str, float]:
        """Return the sum of ln(paths / those that hold it) of the near words that a path or title holds."""
        held = {path: {*place_words(path), *place_words(self.titles.get(path, ""))} for path in paths}
        holding = {word: sum(word in held[path] for path in paths) for word in self.near}
        return {
            path: sum(log(len(paths) / holding[word]) for word in self.near if word in words)
            for path, words in held.items()
        }

    def _names(self, item: EntityRef) -> set[str]:
        return {*names_of(item), *self.extra_names.get(item.key, ())}

    def _files(self, names: Iterable[str]) -> dict[str, Named[FileRef]]:
        paths = sorted({item.path for item in self.entities})
        files = [
            FileRef(
                document_id=document(path), external_id=path, path=path, is_code=path.endswith((".go", ".py", ".ts"))
            )
            for path in paths
        ]
        results = {}
        for name in names:
            of_name = [item for item in files if name in (file_name(item.path), stem_name(item.path))]
            results[name] = Named(items=tuple(of_name[: self.limit]), matches=len(of_name))
        return results
