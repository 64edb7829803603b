"""Moves a data folder to the installed major version of PostgreSQL: by a backup, which stays, and a restore."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread

import ragcorp
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.backups.archive import open_archive
from ragcorp.infrastructure.backups.restoring import check_backup, check_target, restore
from ragcorp.infrastructure.backups.writing import write_backup
from ragcorp.infrastructure.embedded_postgres.upgrade import Upgrade, find_upgrade
from ragcorp.infrastructure.postgres.administration.migrations import head_revision, known_revisions, migrate
from ragcorp.interface.cli.console.services import ServerUpgrade, Target
from ragcorp.main.opening.backup import programs
from ragcorp.main.settings.for_commands import settings_for


async def upgrade_server(target: Target, old_programs: Path | None) -> ServerUpgrade | None:
    """Return what was done; None when the data folder is of the installed version already."""
    settings = settings_for(target)
    if settings.database_url is not None:
        raise ConfigurationError(
            "The server is one of your own, and upgraded by its own means.",
            field="DATABASE_URL",
            remedy="See pg_upgrade; or `ragcorp backup`, and `ragcorp restore` into the new server.",
        )

    def work() -> ServerUpgrade | None:
        found = find_upgrade(settings.data_dir, old_bin_dir=old_programs)
        return None if found is None else carry_over(found)

    return await anyio.to_thread.run_sync(work)


def carry_over(upgrade: Upgrade) -> ServerUpgrade:
    """Back up from the old server, restore into a new one, exchange the two. Blocking; may be killed at any point."""
    backup = upgrade.folder.path / f"postgresql-{upgrade.before}-{datetime.now(UTC):%Y%m%dT%H%M%S}.ragcorp"
    with upgrade.old_server() as old:
        write_backup(backup, dsn=old.superuser_dsn, programs=programs(), version=ragcorp.__version__, overwrite=True)
    with open_archive(backup) as archive, upgrade.new_server() as new:
        check_backup(archive, known_revisions=known_revisions(), head=head_revision())
        check_target(new.owner_dsn, archive.manifest, replace=False)
        restore(archive, dsn=new.owner_dsn, programs=programs())
        migrate(
            new.owner_dsn,
            embedding_model=None,
            application_dsn=new.app_dsn,
            superuser_dsn=new.superuser_dsn,
        )
    return ServerUpgrade(before=upgrade.before, after=upgrade.after, backup=backup, old_files=upgrade.exchange())
