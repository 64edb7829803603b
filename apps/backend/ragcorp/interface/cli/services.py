"""What the command line is given by its composition: no command knows settings, storage or a web server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ragcorp.application.answer_query import AnswerQuery
from ragcorp.application.delete_document import DeleteDocument
from ragcorp.application.embed_pending import EmbedPending
from ragcorp.application.ingest_folder import IngestFolder
from ragcorp.application.list_documents import ListDocuments
from ragcorp.application.restore_document import RestoreDocument
from ragcorp.application.search_chunks import SearchChunks
from ragcorp.domain.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which ragcorp a command works on. ``data_dir`` is the argument, if one was given."""

    data_dir: Path | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is in force, for people: the database as ``storage``, the models, and hybrid search on or off."""

    storage: str
    hybrid: bool
    embedding: str
    answers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An open ragcorp. ``makes_vectors`` is false where no embedding model is configured."""

    search: SearchChunks
    answer: AnswerQuery
    ingest_folder: IngestFolder
    delete: DeleteDocument
    restore: RestoreDocument
    documents: ListDocuments
    embed_pending: EmbedPending
    principal: Principal
    default_language: str
    makes_vectors: bool
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the command line says of the service; None is the setting's."""

    host: str | None = None
    port: int | None = None


OnListening = Callable[[str], None]
"""Told the URL as soon as requests are answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """An open session with a service ready to start on it; ``run`` returns when the service was stopped."""

    session: Session
    run: Callable[[OnListening], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The packaged corpus over an open session; ``run`` is None where nothing is to be served."""

    session: Session
    documents: Path
    questions: Sequence[str]
    run: Callable[[OnListening], Awaitable[None]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """Schema revisions: the database's (None: empty) and the newest that this version carries."""

    current: str | None
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    before: SchemaState
    after: SchemaState


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """A setting as it may be shown: secrets are masked already."""

    name: str
    value: str | int | float | bool | None
    origin: str
    description: str


class CheckStatus(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding of the doctor, with what can be done about it."""

    name: str
    status: CheckStatus
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The operations behind the commands. Each raises RagcorpError only."""

    version: str
    new_event_loop: Callable[[], asyncio.AbstractEventLoop]
    open: Callable[[Target], AbstractAsyncContextManager[Session]]
    service: Callable[[Target, ServeOptions], AbstractAsyncContextManager[RunningService]]
    demo: Callable[[Target, ServeOptions | None], AbstractAsyncContextManager[Demo]]
    migrate: Callable[[Target], Awaitable[Migration]]
    schema: Callable[[Target], Awaitable[SchemaState]]
    settings: Callable[[Target], Sequence[SettingRow]]
    diagnose: Callable[[Target], Awaitable[Sequence[Check]]]
