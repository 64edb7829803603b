"""Use case: ingest a folder. Skips stored files, so that an interrupted run resumes when it is repeated."""

from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from ragcorp.application.folders.documents import FolderDocuments, unlisted
from ragcorp.domain.documents import DocumentAttributes, IngestStatus
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ingestion import IngestFailure, IngestOutcome, IngestResult
from ragcorp.domain.ports.folders import (
    FolderFiles,
    FolderOptions,
    FolderScan,
    LeftOutFile,
    LeftOutReason,
    OnProgress,
    WatchedTree,
)
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.checks import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderReport:
    """Counts of files by status; ``replaced`` updated documents had been stored by another folder.

    ``parts``: documents of the files inside the files. ``partly_read``: stored documents with ``unread`` parts.
    ``left_out``: files that are not ingested, except the ``ignored`` ones, of which an excluded folder counts as one.
    """

    created: int
    updated: int
    unchanged: int
    failures: tuple[IngestFailure, ...]
    replaced: int = 0
    parts: int = 0
    partly_read: tuple[IngestResult, ...] = ()
    left_out: tuple[LeftOutFile, ...] = ()
    ignored: int = 0

    @property
    def total(self) -> int:
        return self.created + self.updated + self.unchanged + len(self.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestFolder:
    """Stores files under their relative paths, and records them for a later watch. A bad file stops no other."""

    documents: FolderDocuments
    files: FolderFiles
    default_language: str

    async def require_distinct_names(self, paths: Sequence[Path], *, gitignore: bool = True) -> None:
        """Raises InvalidInputError if a name occurs below several paths, and MissingFileError for a missing path."""
        if len(paths) < 2:
            return
        names: Counter[str] = Counter()
        for path in paths:
            scan = (await self._scan(path, gitignore=gitignore))[1]
            names.update(file.relative for file in scan.files if file.stamp.size)
        twice = sum(count > 1 for count in names.values())
        if twice:
            raise InvalidInputError(
                f"{twice} {'names refer' if twice > 1 else 'name refers'} to more than one file.",
                field="PATHS",
                remedy="Ingest each path by itself with its own --prefix, or the folder that contains them all.",
            )

    async def _scan(self, path: Path, *, gitignore: bool) -> tuple[WatchedTree, FolderScan]:
        tree = await anyio.to_thread.run_sync(self.files.locate, path)
        return tree, await anyio.to_thread.run_sync(lambda: self.files.scan(tree, gitignore=gitignore))

    async def ingest(
        self,
        root: Path,
        *,
        principal: Principal,
        prefix: str = "",
        attributes: DocumentAttributes | None = None,
        by_kind: bool | None = None,
        gitignore: bool = True,
        on_progress: OnProgress | None = None,
    ) -> FolderReport:
        """Ingest the files below ``root``.

        ``by_kind`` stores source code as ``code``; None: if no attributes.
        """
        tree, scan = await self._scan(root, gitignore=gitignore)
        entries = [file.entry for file in scan.files if file.stamp.size]
        empty = [LeftOutFile(file.relative, LeftOutReason.EMPTY) for file in scan.files if not file.stamp.size]
        options = FolderOptions(
            attributes=attributes or DocumentAttributes(language=self.default_language),
            prefix=prefix,
            by_kind=attributes is None if by_kind is None else by_kind,
            gitignore=gitignore,
        )
        outcomes: list[IngestOutcome] = [
            IngestFailure(external_id=visible(prefix + (path or ".")), error=unlisted()) for path in scan.unlisted
        ]
        replaced = done = 0
        stored = self.documents.store(
            entries,
            folder=tree.key,
            options=options,
            principal=principal,
            even_moving=frozenset(entry.relative for entry in entries),
        )
        async with aclosing(stored) as batches:
            async for batch in batches:
                outcomes += [file.outcome for file in batch if file.outcome is not None]
                empty += [LeftOutFile(file.relative, LeftOutReason.EMPTY) for file in batch if file.empty]
                replaced += sum(file.replaced for file in batch)
                done += len(batch)
                if on_progress:
                    on_progress(done, len(entries))
        if on_progress and not entries:
            on_progress(0, 0)
        left_out = list(scan.left_out)
        if gitignore:
            left_out = await anyio.to_thread.run_sync(self.files.without_ignored, tree, scan.left_out)
        return _report(
            outcomes,
            replaced=replaced,
            left_out=sorted([*left_out, *empty]),
            ignored=scan.ignored + len(scan.left_out) - len(left_out),
        )


def _report(
    outcomes: Sequence[IngestOutcome], *, replaced: int, left_out: Sequence[LeftOutFile], ignored: int
) -> FolderReport:
    stored = [outcome for outcome in outcomes if not isinstance(outcome, IngestFailure)]
    statuses = [result.status for result in stored]
    return FolderReport(
        created=statuses.count(IngestStatus.CREATED),
        updated=statuses.count(IngestStatus.UPDATED),
        unchanged=statuses.count(IngestStatus.UNCHANGED),
        failures=tuple(outcome for outcome in outcomes if isinstance(outcome, IngestFailure)),
        replaced=replaced,
        parts=sum(result.parts for result in stored),
        partly_read=tuple(result for result in stored if result.unread),
        left_out=tuple(left_out),
        ignored=ignored,
    )
