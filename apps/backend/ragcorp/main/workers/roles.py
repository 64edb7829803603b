"""What supervisor and processes tell each other at the start: names, setup and errors."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragcorp.domain.exceptions import ConfigurationError, RagcorpError, StorageUnavailableError
from ragcorp.interface.cli.console.services import Target
from ragcorp.main.settings.for_commands import settings_for
from ragcorp.main.settings.schema import Settings

BACKGROUND = "background"

GRACE_SHARE = 0.85
"""Share of the service's grace in which its processes end; the rest is for the supervisor and the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A process's ``name``, its settings as a command has them, and the DSN of the application's role."""

    name: str
    data_dir: str | None
    verbose: bool
    host: str
    port: int
    workers: int
    dsn: str

    @classmethod
    def of(cls, name: str, *, target: Target, settings: Settings, dsn: str) -> "Setup":
        return cls(
            name=name,
            data_dir=str(target.data_dir) if target.data_dir else None,
            verbose=target.verbose,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            dsn=dsn,
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def target(self) -> Target:
        return Target(data_dir=Path(self.data_dir) if self.data_dir else None, verbose=self.verbose)

    def settings(self) -> Settings:
        """Return the settings of this process, which gets its share of the processes that read files."""
        settings = settings_for(self.target, host=self.host, port=self.port, workers=self.workers)
        share = max(1, settings.parse_processes // settings.workers)
        return settings.model_copy(update={"parse_processes": share})


def document_of(error: RagcorpError) -> dict[str, Any]:
    """Return the fields of an error that keeps a process from starting."""
    fields = {name: getattr(error, name) for name in ("message", "field", "remedy", "reason")}
    return {"unavailable": isinstance(error, StorageUnavailableError), **fields}


def error_of(document: Mapping[str, Any]) -> RagcorpError:
    fields = dict(document)
    return StorageUnavailableError(**fields) if fields.pop("unavailable") else ConfigurationError(**fields)
