"""Makes a backup: counts and dump come from one snapshot, while writes continue."""

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import LiteralString

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.backups.archive import CHUNK_BYTES, Manifest, new_archive, refuse_existing
from ragcorp.infrastructure.backups.contents import (
    BYPASSES_ROW_SECURITY,
    EVERY_ROW,
    EXTENSIONS,
    connected,
    count_rows,
    scalar,
)
from ragcorp.infrastructure.backups.programs import Child, Programs

OnBytes = Callable[[int, int], None]
"""Called with the bytes done and the total. The size of a dump is unknown, so its total is the bytes done."""

_SNAPSHOT: LiteralString = "SELECT pg_export_snapshot(), current_setting('server_version')"
_REVISION: LiteralString = "SELECT version_num FROM public.alembic_version"
_MODEL: LiteralString = "SELECT name FROM public.embedding_models WHERE active"


def write_backup(
    file: Path, *, dsn: str, programs: Programs, version: str, overwrite: bool = False, on_bytes: OnBytes | None = None
) -> Manifest:
    """Write the whole database to a file that only this user may read. Blocking; services may keep running.

    ``dsn`` belongs to a role that reads every row: a superuser, or the owner of the schema.
    """
    refuse_existing(file, overwrite=overwrite)
    with connected(dsn) as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = connection.execute(_SNAPSHOT).fetchone()
        if row is None or connection.execute("SELECT to_regclass('public.alembic_version')").fetchone() == (None,):
            raise ConfigurationError(
                "The database contains no ragcorp schema: there is nothing to back up.",
                remedy="Check DATABASE_URL or the data folder; `ragcorp migrate` makes a new database.",
            )
        manifest = Manifest(
            ragcorp=version,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            postgresql=str(row[1]),
            revision=scalar(connection, _REVISION) or "",
            embedding_model=scalar(connection, _MODEL),
            extensions=tuple(name for (name,) in connection.execute(EXTENSIONS)),
            rows=count_rows(connection),
        )
        arguments = [programs.pg_dump, "--format=custom", f"--snapshot={row[0]}", "--schema=public"]
        arguments += ["--lock-wait-timeout=10s", "--no-password"]
        if not scalar(connection, BYPASSES_ROW_SECURITY):
            arguments.append("--enable-row-security")
        with (
            tempfile.TemporaryFile() as errors,
            new_archive(file, manifest, overwrite=overwrite) as stream,
            Child(arguments, dsn=dsn, options=EVERY_ROW, writes=True, errors=errors) as child,
        ):
            done = 0
            while chunk := child.stdout.read(CHUNK_BYTES):
                stream.write(chunk)
                done += len(chunk)
                if on_bytes is not None:
                    on_bytes(done, done)
            if child.wait() != 0:
                raise child.failure("The backup failed, and nothing was written")
    return manifest
