"""The port CandidateStore over files that are not stored documents: describes and reads their passages."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from uuid import UUID, uuid5

from ragcorp.application.files.filter_evaluation import meets
from ragcorp.domain.documents import Chunk, VisibilityScope
from ragcorp.domain.exceptions import FileAccessError, InvalidInputError
from ragcorp.domain.files.values import FILE_KIND, FILES, FileAccess, FileText, parse_passage_id
from ragcorp.domain.filters import COLLECTION, DOCUMENT_FIELDS, Filters, fields_of
from ragcorp.domain.ports.file_search import FileDocuments, FileLines, FileRepository
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey
from ragcorp.domain.search.candidates import Description, Features
from ragcorp.domain.text.folding import folded

PASSAGE_NAMESPACE = UUID("0c7d3a52-8f0e-4a53-9d0c-5b7a2f1e6c94")
"""Namespace of the document ids of file passages."""

_WORD = re.compile(r"[^\W_]+")

Span = tuple[str, int, int]
"""Path, first and last line."""


def file_passes(filters: Filters, path: str, *, access: FileAccess, language: str) -> bool:
    """Return whether a file passes: its path is the external_id, its attributes those of all files, no metadata."""
    if fields_of(filters) - DOCUMENT_FIELDS:
        return False
    described = _description(access, language)
    return meets(
        filters,
        {
            "external_id": path,
            "language": described.language,
            "artifact_type": described.kind,
            "sensitivity": described.sensitivity,
            "visibility_scope": described.visibility_scope,
            "owner": described.owner,
            COLLECTION: described.collection,
        },
    )


class FileCandidates:
    """Describes and reads passages by path and lines. Keys are untrusted: access is checked again."""

    def __init__(
        self, *, files: FileRepository, documents: FileDocuments, access: FileAccess, default_language: str = "es"
    ) -> None:
        self._files = files
        self._documents = documents
        self._access = access
        self._language = default_language

    async def describe(
        self, keys: Sequence[HitKey], *, principal: Principal, filters: Filters = ()
    ) -> dict[HitKey, Description]:
        spans = {
            key: span
            for key, span in self._spans(keys, principal).items()
            if file_passes(filters, span[0], access=self._access, language=self._language)
        }
        readable = await self._readable((path for path, _, _ in spans.values()), principal, filters)
        description = _description(self._access, self._language)
        return {key: description for key, (path, _, _) in spans.items() if path in readable}

    async def features(self, keys: Sequence[HitKey], *, principal: Principal) -> Features:
        """Return the words of each passage, in small letters without accents, in place of lexemes; no cosines."""
        texts = await self._texts(keys, principal)
        return Features(lexemes={key: _words(text.text) for key, text in texts.items()})

    async def read(self, keys: Sequence[HitKey], *, principal: Principal) -> dict[HitKey, Chunk]:
        texts = await self._texts(keys, principal)
        return {key: self._chunk(key, text) for key, text in texts.items()}

    async def neighbours(
        self, centres: Sequence[tuple[UUID, int]], *, distance: int, principal: Principal
    ) -> dict[tuple[UUID, int], Chunk]:
        del centres, distance, principal
        return {}

    def _spans(self, keys: Sequence[HitKey], principal: Principal) -> dict[HitKey, Span]:
        if not self._access.allows(principal):
            return {}
        parsed = {key: parse_passage_id(key[0]) for key in keys if key[1] == FILES}
        return {key: span for key, span in parsed.items() if span is not None}

    async def _texts(self, keys: Sequence[HitKey], principal: Principal) -> dict[HitKey, FileText]:
        by_path: dict[str, dict[HitKey, tuple[int, int]]] = {}
        for key, (path, start, end) in self._spans(keys, principal).items():
            by_path.setdefault(path, {})[key] = (start, end)
        readable = await self._readable(by_path, principal)
        read = await asyncio.gather(*(self._passages(path, list(by_path[path].values())) for path in readable))
        return {
            key: text
            for path, texts in zip(readable, read, strict=True)
            for key, text in zip(by_path[path], texts, strict=False)
            if text.line_end >= text.line_start
        }

    async def _readable(self, paths: Iterable[str], principal: Principal, filters: Filters = ()) -> list[str]:
        """Return the paths of existing files that are not withheld from the caller as documents."""
        distinct = list(dict.fromkeys(paths))
        named = await asyncio.gather(*map(self._names, distinct))
        existing = {path: names for path, names in zip(distinct, named, strict=True) if names}
        if not existing:
            return []
        files = [FileLines(names=names) for names in existing.values()]
        stored = await self._documents.look_up(files, principal=principal, filters=filters)
        return [path for path, file in zip(existing, stored, strict=True) if file.readable and file.passes]

    async def _names(self, path: str) -> tuple[str, ...]:
        try:
            return await self._files.names(path)
        except (FileAccessError, InvalidInputError):
            return ()

    async def _passages(self, path: str, spans: Sequence[tuple[int, int]]) -> list[FileText]:
        try:
            return await self._files.read_passages(path, spans)
        except FileAccessError:
            return []

    def _chunk(self, key: HitKey, text: FileText) -> Chunk:
        return Chunk(
            id=key[0],
            document_id=uuid5(PASSAGE_NAMESPACE, key[0]),
            external_id=text.path,
            content=text.text,
            title=PurePosixPath(text.path).name,
            language=self._language,
            path=text.path,
            line_start=text.line_start,
            line_end=text.line_end,
            collection=FILES,
            artifact_type=FILE_KIND,
            sensitivity=self._access.sensitivity,
        )


def _description(access: FileAccess, language: str) -> Description:
    return Description(
        collection=FILES,
        kind=FILE_KIND,
        workspace=access.workspace,
        sensitivity=access.sensitivity,
        visibility_scope=VisibilityScope.WORKSPACE,
        owner="",
        language=language,
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(folded(text)))
