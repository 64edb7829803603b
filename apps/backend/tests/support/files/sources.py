"""The source over real files, with real ripgrep and a real database."""

from __future__ import annotations

from ragcorp.application.files.candidates import FileCandidates
from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.retrieval.sources.files import FileGrepSource
from ragcorp.domain.files.values import FileAccess
from ragcorp.infrastructure.files.repository import LocalFileRepository
from ragcorp.infrastructure.files.ripgrep import Ripgrep, find_ripgrep
from ragcorp.infrastructure.files.safe_open import Roots
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.files.documents import PostgresFileDocuments
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTermFrequencies
from support.files.roots import MAX_FILE, reader_of


def files_of(roots: Roots) -> LocalFileRepository:
    binary = find_ripgrep()
    assert binary is not None
    reader = reader_of(roots, max_read=4 * MAX_FILE)
    return LocalFileRepository(
        roots=roots, reader=reader, search=Ripgrep(roots=roots, reader=reader, binary=binary, max_file_bytes=MAX_FILE)
    )


def grep_over(roots: Roots, database: Database, *, access: FileAccess | None = None) -> GrepFiles:
    return GrepFiles(
        files=files_of(roots),
        documents=PostgresFileDocuments(database=database),
        access=access or FileAccess(),
        timeout_seconds=20.0,
    )


def source_of(grep: GrepFiles, database: Database, *, access: FileAccess | None = None) -> FileGrepSource:
    return FileGrepSource(
        files=grep, frequencies=PostgresTermFrequencies(database=database), access=access or FileAccess()
    )


def candidates_of(roots: Roots, database: Database, *, access: FileAccess | None = None) -> FileCandidates:
    return FileCandidates(
        files=files_of(roots), documents=PostgresFileDocuments(database=database), access=access or FileAccess()
    )
