"""Builds search and reading of files in place: roots, use cases and the source."""

from dataclasses import dataclass

from ragcorp.application.files.candidates import FileCandidates
from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.files.read import ReadFile
from ragcorp.application.retrieval.sources.files import FileGrepSource
from ragcorp.domain.files.values import FileAccess
from ragcorp.domain.ports.file_search import FileRepository
from ragcorp.domain.principal import Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database
from ragcorp.infrastructure.postgres.files.documents import PostgresFileDocuments
from ragcorp.infrastructure.postgres.lexical.text_analysis import PostgresTermFrequencies
from ragcorp.main.settings.schema import Settings
from ragcorp.main.wiring.file_search import make_repository


@dataclass(frozen=True, slots=True, kw_only=True)
class FileParts:
    """``source`` is None without allowed roots: profiles then report it as not configured."""

    repository: FileRepository
    grep: GrepFiles
    read: ReadFile
    source: FileGrepSource | None
    candidates: FileCandidates


def make_files(settings: Settings, database: Database) -> FileParts:
    """Raises ConfigurationError for invalid roots."""
    repository = make_repository(settings)
    documents = PostgresFileDocuments(database=database, place_of=repository.place)
    access = FileAccess(workspace=settings.files_workspace, sensitivity=Sensitivity.parse(settings.files_sensitivity))
    grep = GrepFiles(
        files=repository, documents=documents, access=access, timeout_seconds=settings.grep_timeout_seconds
    )
    source = FileGrepSource(
        files=grep,
        frequencies=PostgresTermFrequencies(database=database, default_language=settings.default_language),
        access=access,
        default_language=settings.default_language,
    )
    return FileParts(
        repository=repository,
        grep=grep,
        read=ReadFile(files=repository, documents=documents, access=access),
        source=source if repository.roots else None,
        candidates=FileCandidates(
            files=repository, documents=documents, access=access, default_language=settings.default_language
        ),
    )
