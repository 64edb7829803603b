"""Backs up and restores a database: the embedded one as its superuser, any other as its owner."""

import os
from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread

import ragcorp
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.infrastructure.backups.archive import Manifest, open_archive
from ragcorp.infrastructure.backups.programs import Programs
from ragcorp.infrastructure.backups.restoring import check_backup, check_target
from ragcorp.infrastructure.backups.restoring import restore as restore_dump
from ragcorp.infrastructure.backups.writing import OnBytes, write_backup
from ragcorp.infrastructure.embedded_postgres.installation import find_installation
from ragcorp.infrastructure.postgres.administration.migrations import head_revision, known_revisions, migrate
from ragcorp.interface.cli.console.services import Backup, Restoration, Target
from ragcorp.main.opening.storage import Storage, open_storage
from ragcorp.main.settings.for_commands import settings_for


async def back_up(target: Target, file: Path, overwrite: bool, on_bytes: OnBytes) -> Backup:
    """Write a backup while services go on. Raises ConflictError for a file that is there and not to be overwritten."""
    async with open_storage(settings_for(target)) as storage:
        return await anyio.to_thread.run_sync(lambda: _write(storage, file, overwrite=overwrite, on_bytes=on_bytes))


async def restore(target: Target, file: Path, replace: bool, on_bytes: OnBytes) -> Restoration:
    """Put a backup in the place of an empty database; with ``replace`` of a filled one, after a backup of that."""
    await anyio.to_thread.run_sync(check_file, file)
    async with open_storage(settings_for(target)) as storage:
        return await anyio.to_thread.run_sync(lambda: _restore(storage, file, replace=replace, on_bytes=on_bytes))


def read_backup(file: Path) -> Backup:
    with open_archive(file) as archive:
        return summary(file, archive.manifest)


def check_file(file: Path) -> None:
    """Read a whole backup. Raises InvalidInputError if it is damaged or its schema is unknown."""
    with open_archive(file) as archive:
        check_backup(archive, known_revisions=known_revisions(), head=head_revision())


def _write(storage: Storage, file: Path, *, overwrite: bool, on_bytes: OnBytes | None = None) -> Backup:
    dsn = storage.superuser_dsn or storage.owner_dsn
    manifest = write_backup(
        file, dsn=dsn, programs=programs(), version=ragcorp.__version__, overwrite=overwrite, on_bytes=on_bytes
    )
    return summary(file, manifest)


def _restore(storage: Storage, file: Path, *, replace: bool, on_bytes: OnBytes) -> Restoration:
    with open_archive(file) as archive:
        filled = check_target(storage.owner_dsn, archive.manifest, replace=replace)
        kept = None
        if filled:
            kept = file.with_name(f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}.ragcorp")
            _write(storage, kept, overwrite=False)
        restore_dump(archive, dsn=storage.owner_dsn, programs=programs(), on_bytes=on_bytes)
        # the backup's model stays active, whatever the settings
        done = migrate(
            storage.owner_dsn, embedding_model=None, application_dsn=storage.dsn, superuser_dsn=storage.superuser_dsn
        )
        return Restoration(backup=summary(file, archive.manifest), revision=done.current, kept=kept)


def programs() -> Programs:
    """Return the programs of the package, which are the newest; without it those of the PATH."""
    try:
        program = find_installation().program
    except MissingExtraError:
        return Programs.in_path()
    return Programs(pg_dump=program("pg_dump"), pg_restore=program("pg_restore"), psql=program("psql"))


def summary(file: Path, manifest: Manifest) -> Backup:
    return Backup(
        file=file,
        bytes=file.stat().st_size,
        version=manifest.ragcorp,
        created_at=manifest.created_at,
        postgresql=manifest.postgresql,
        revision=manifest.revision,
        embedding_model=manifest.embedding_model,
        rows=manifest.rows,
    )
