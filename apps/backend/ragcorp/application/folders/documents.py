"""Stores files of a folder as documents, two batches in memory at a time, and records them."""

import hashlib
import json
import time
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from ragcorp.application.documents.preparation import DocumentPreparation
from ragcorp.application.folders.one_ahead import one_ahead
from ragcorp.domain.documents import DocumentAttributes, IngestStatus
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError, UnreadableDocumentError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestRequest, IngestResult
from ragcorp.domain.ports.folders import (
    FileClaim,
    FileEntry,
    FileRecord,
    FileStamp,
    FolderFiles,
    FolderOptions,
    FolderRecords,
    StampedFile,
)
from ragcorp.domain.ports.use_cases import BatchIngestion, PreparedBatch
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import visible

BATCH_DOCUMENTS = 16
BATCH_BYTES = 8 * 1024 * 1024

TRUSTED_AFTER_NS = 2_000_000_000
"""A file that changed less than two seconds before it was read may change again without a new timestamp, because
timestamps of file systems are that coarse. It is read once more.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """Outcome of a file: None if being written or ``empty``.

    ``unread``: it could not be opened or read; ``replaced``: its document was another folder's.
    """

    entry: FileEntry
    outcome: IngestOutcome | None
    stamp: FileStamp | None = None
    unread: bool = False
    empty: bool = False
    replaced: bool = False

    @property
    def relative(self) -> str:
        return self.entry.relative


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    entry: FileEntry
    stamped: StampedFile
    settled: bool
    request: IngestRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Files that were read, with their documents, and the outcomes of those that were not."""

    reads: Sequence[_Read]
    documents: PreparedBatch
    others: Sequence[StoredFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderDocuments:
    """Stores files of a folder as documents.

    ``logical_path`` returns the path by which callers may read a file below an allowed root, None for any other file.
    ``artifact_type_of`` maps a file's name to its artifact_type. Without ``records`` nothing is recorded.
    """

    ingest: BatchIngestion
    preparation: DocumentPreparation
    files: FolderFiles
    records: FolderRecords | None = None
    logical_path: Callable[[Path], str | None] = lambda _: None
    artifact_type_of: Callable[[str], str] = lambda _: "document"
    clock_ns: Callable[[], int] = time.time_ns

    def described(self, options: FolderOptions) -> Callable[[FileEntry], bytes]:
        """Return a function from a file to the SHA-256 of everything that makes its document, except the content."""
        attributes = options.attributes
        parts = [options.by_kind, *attributes.for_digest(), dict(attributes.metadata)]
        common = json.dumps(parts, sort_keys=True)

        def of(entry: FileEntry) -> bytes:
            path = self.logical_path(entry.path) or ""
            chunker = self.preparation.chunker(entry.path.name)
            return hashlib.sha256(f"{chunker}\n{common}\n{path}".encode("utf-8", "surrogateescape")).digest()

        return of

    async def store(
        self,
        entries: Sequence[FileEntry],
        *,
        folder: bytes,
        options: FolderOptions,
        principal: Principal,
        even_moving: frozenset[str] = frozenset(),
    ) -> AsyncGenerator[list[StoredFile]]:
        """Yield the outcomes in batches, each read and prepared while the one before it is stored.

        ``even_moving`` files are stored even while they are being written.
        """
        described = self.described(options)
        batches = self._batches(entries, options, principal=principal, even_moving=even_moving)
        async with aclosing(one_ahead(batches, alone=lambda batch: batch.documents.is_large)) as prepared:
            async for batch in prepared:
                yield await self._save(batch, folder, described, principal=principal)

    async def _batches(
        self, entries: Sequence[FileEntry], options: FolderOptions, *, principal: Principal, even_moving: frozenset[str]
    ) -> AsyncGenerator[_Batch]:
        reads: list[_Read] = []
        others: list[StoredFile] = []
        size = 0
        for number, entry in enumerate(entries, start=1):
            read = await self._read(entry, options, moving=entry.relative in even_moving)
            if isinstance(read, StoredFile):
                others.append(read)
            else:
                reads.append(read)
                size += len(read.stamped.file.content)
            if len(reads) + len(others) >= BATCH_DOCUMENTS or size >= BATCH_BYTES or number == len(entries):
                documents = await self.ingest.prepare_many([read.request for read in reads], principal=principal)
                yield _Batch(reads=reads, documents=documents, others=others)
                reads, others, size = [], [], 0

    async def _read(self, entry: FileEntry, options: FolderOptions, *, moving: bool) -> _Read | StoredFile:
        external_id = options.prefix + entry.relative
        shown = visible(external_id)
        if shown != external_id:
            return StoredFile(entry=entry, outcome=IngestFailure(external_id=shown, error=_misnamed()))
        now_ns = self.clock_ns()
        try:
            stamped = await anyio.to_thread.run_sync(self.files.read_stamped, entry)
        except RagcorpError as error:
            return StoredFile(entry=entry, outcome=IngestFailure(external_id=external_id, error=error), unread=True)
        if stamped.moving and not moving:
            return StoredFile(entry=entry, outcome=None, stamp=stamped.stamp)
        if is_empty(stamped.file.content):
            return StoredFile(entry=entry, outcome=None, stamp=stamped.stamp, empty=True)
        request = IngestRequest(external_id=external_id, file=stamped.file, attributes=self._attributes(entry, options))
        return _Read(entry=entry, stamped=stamped, settled=is_settled(stamped.stamp, now_ns), request=request)

    def _attributes(self, entry: FileEntry, options: FolderOptions) -> DocumentAttributes:
        attributes = options.attributes
        if options.by_kind:
            attributes = replace(attributes, artifact_type=self.artifact_type_of(entry.path.name))
        path = self.logical_path(entry.path)
        # a document without a path gets its external_id as path
        return replace(attributes, path=None if path == options.prefix + entry.relative else path)

    async def _save(
        self, batch: _Batch, folder: bytes, described: Callable[[FileEntry], bytes], *, principal: Principal
    ) -> list[StoredFile]:
        hashes = batch.documents.content_hashes
        of_others: frozenset[str] = frozenset()
        if self.records is not None and hashes:
            claims = [
                FileClaim(read.entry.relative, read.request.external_id, hashes[read.request.external_id])
                for read in batch.reads
                if read.request.external_id in hashes
            ]
            of_others = await self.records.claim(folder, claims, principal=principal)
        outcomes = await batch.documents.save()
        if self.records is not None:
            stored = [
                FileRecord(
                    read.request.external_id,
                    hashes[read.request.external_id],
                    read.stamped.stamp,
                    read.settled,
                    described(read.entry),
                )
                for read, outcome in zip(batch.reads, outcomes, strict=True)
                if isinstance(outcome, IngestResult)
            ]
            await self.records.confirm(folder, stored, principal=principal)
        return [
            *batch.others,
            *(
                StoredFile(
                    entry=read.entry,
                    outcome=outcome,
                    stamp=read.stamped.stamp,
                    replaced=(
                        read.request.external_id in of_others
                        and isinstance(outcome, IngestResult)
                        and outcome.status is IngestStatus.UPDATED
                    ),
                )
                for read, outcome in zip(batch.reads, outcomes, strict=True)
            ),
        ]


def is_empty(content: bytes) -> bool:
    """Return whether a file has nothing but white space, and perhaps the mark of UTF-8 before it."""
    text = content.removeprefix(BOM_UTF8)
    return not text or text.isspace()


def is_settled(stamp: FileStamp, now_ns: int) -> bool:
    """Return whether a stamp taken at ``now_ns`` is sure to differ after the next change of the file."""
    return now_ns - max(stamp.mtime_ns, stamp.ctime_ns) >= TRUSTED_AFTER_NS


def _misnamed() -> InvalidInputError:
    return InvalidInputError(
        "The file's name has a line end or another control character, or is not valid UTF-8.",
        field="path",
        remedy="Rename the file.",
    )


def unlisted() -> UnreadableDocumentError:
    """Return the error of a folder or file that cannot be read."""
    return UnreadableDocumentError(
        "It cannot be listed or read; what is stored of it stays.",
        field="path",
        remedy="Check its permissions and the disk.",
    )
