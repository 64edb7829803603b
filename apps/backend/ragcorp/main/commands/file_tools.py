"""Opens the tools of the user's own files: no database is asked, and none is started."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragcorp.application.files.read import ReadFile
from ragcorp.domain.files.values import FileAccess
from ragcorp.domain.principal import Sensitivity
from ragcorp.infrastructure.files.no_documents import NoFileDocuments
from ragcorp.interface.cli.console.services import FileOptions, FileTools, Target
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.principals import local_principal
from ragcorp.main.wiring.file_search import make_grep, make_repository


@asynccontextmanager
async def open_files(target: Target, options: FileOptions) -> AsyncIterator[FileTools]:
    """Yield the tools over the roots of the options, else of the settings. Raises ConfigurationError."""
    settings = settings_for(target, allowed_paths=":".join(options.paths) or None)
    repository = make_repository(settings)
    principal, documents = local_principal(settings), NoFileDocuments()
    access = FileAccess(workspace=principal.workspace, sensitivity=Sensitivity.PUBLIC)
    yield FileTools(
        grep=make_grep(settings, repository, documents, access),
        read_file=ReadFile(files=repository, documents=documents, access=access),
        principal=principal,
    )
