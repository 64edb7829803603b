"""Search and reading of the user's own files, without a database."""

from collections.abc import Sequence

from ragcorp.application.files.grep import GrepFiles
from ragcorp.application.files.read import ReadFile
from ragcorp.domain.files.values import FileAccess
from ragcorp.domain.principal import Sensitivity
from ragcorp.infrastructure.files.repository import NoFileDocuments
from ragcorp.interface.cli.console.services import FileTools, Target
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.wiring.file_search import make_repository


def open_files(target: Target, paths: Sequence[str]) -> FileTools:
    """Return the tools over ``paths``, else over ALLOWED_PATHS. Raises ConfigurationError."""
    settings = settings_for(target, allowed_paths=":".join(paths) or None)
    repository = make_repository(settings)
    principal, documents = settings.local_caller.principal, NoFileDocuments()
    access = FileAccess(workspace=principal.workspace, sensitivity=Sensitivity.PUBLIC)
    return FileTools(
        grep=GrepFiles(
            files=repository, documents=documents, access=access, timeout_seconds=settings.grep_timeout_seconds
        ),
        read_file=ReadFile(files=repository, documents=documents, access=access),
        principal=principal,
    )
