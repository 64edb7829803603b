"""The doctor's findings on what faces a network: keys, where it listens, workspaces kept apart, clock, disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.postgres.administration.service_inspection import ServiceFacts
from ragcorp.interface.cli.console.services import Check, CheckStatus
from ragcorp.main.settings.addresses import address_of, is_loopback
from ragcorp.main.settings.schema import Settings

MOST_PASSAGES_UNMARKED = 1000
"""Without its indexes a full-text search reads 5,000 passages in 1.1 to 1.4 s a term, of 2.5 s for all."""

MOST_SKEW_SECONDS = 5.0
LITTLE_BYTES = 1024**3
TOO_LITTLE_BYTES = 100 * 1024**2


def service_checks(facts: ServiceFacts, settings: Settings) -> Iterator[Check]:
    yield _keys(facts, settings)
    yield _listening(facts, settings)
    yield _workspaces(facts)
    yield _clock(facts)


def disk_check(settings: Settings) -> Check:
    """Look at the disk of the data folder, or of the nearest folder above it that there is."""
    name = "disk"
    folder = settings.data_dir
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(
            name=name,
            status=CheckStatus.WARNING,
            detail=f"The free space of the data folder cannot be read: {type(error).__name__}.",
            remedy="Check that this user may read the folder.",
        )
    said = f"{free / 1024**3:,.1f} GB free for the data folder"
    remedy = "Free space, or move the data folder (RAGCORP_DATA_DIR): a database without room refuses writes."
    if free < TOO_LITTLE_BYTES:
        return Check(name=name, status=CheckStatus.FAILED, detail=said, remedy=remedy)
    if free < LITTLE_BYTES:
        return Check(name=name, status=CheckStatus.WARNING, detail=said, remedy=remedy)
    return Check(name=name, status=CheckStatus.OK, detail=said)


def _keys(facts: ServiceFacts, settings: Settings) -> Check:
    name = "keys"
    if not facts.keys:
        return Check(
            name=name,
            status=CheckStatus.OK,
            detail="none: whoever is on this machine may do everything, and nobody else reaches the service",
        )
    secret = "KEYS_SECRET" if settings.keys_secret.get_secret_value() else "the database's own secret"
    said = f"{facts.active_keys:,} of {facts.keys:,} in force, stored under {secret}"
    if facts.active_keys:
        return Check(name=name, status=CheckStatus.OK, detail=f"{said}; a key made under another secret is unknown")
    return Check(
        name=name,
        status=CheckStatus.WARNING,
        detail=f"{said}: nobody can call the service.",
        remedy="Make one with `ragcorp keys create`.",
    )


def _listening(facts: ServiceFacts, settings: Settings) -> Check:
    name = "listening"
    try:
        _, address = address_of(settings.host)
    except ConfigurationError as error:
        return Check(name=name, status=CheckStatus.FAILED, detail=error.message, remedy=error.remedy)
    if is_loopback(address):
        return Check(name=name, status=CheckStatus.OK, detail="on loopback: only this machine reaches the service")
    if not facts.keys:
        return Check(
            name=name,
            status=CheckStatus.FAILED,
            detail="HOST is no loopback address, and there is no key: the service refuses to start.",
            remedy="Make a key with `ragcorp keys create`, or set HOST=127.0.0.1.",
        )
    return Check(name=name, status=CheckStatus.OK, detail="on the network, without TLS; each request needs a key")


def _workspaces(facts: ServiceFacts) -> Check:
    name = "row-level security"
    if facts.unprotected and facts.row_level_security:
        return Check(
            name=name,
            status=CheckStatus.FAILED,
            detail=f"It is off for {', '.join(facts.unprotected)}.",
            remedy="Run `ragcorp migrate --row-level-security on`; for a table without a policy, as the owner: "
            "CREATE POLICY ..., ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;",
        )
    if facts.sees_every_row:
        return Check(
            name=name,
            status=CheckStatus.FAILED,
            detail="The role of DATABASE_URL passes over it: conditions of the statements alone keep workspaces apart, "
            "and the service refuses to listen on a network.",
            remedy="Use a role that is neither a superuser nor has BYPASSRLS; docs/operations.md names its rights.",
        )
    if not facts.row_level_security:
        return Check(
            name=name,
            status=CheckStatus.WARNING,
            detail="It was turned off: conditions of the statements alone keep workspaces apart.",
            remedy="Where a superuser can mark functions LEAKPROOF: `ragcorp migrate --row-level-security on`.",
        )
    if facts.unmarked:
        many = facts.passages > MOST_PASSAGES_UNMARKED
        return Check(
            name=name,
            status=CheckStatus.FAILED if many else CheckStatus.WARNING,
            detail="In force, but conditions under it cannot use their indexes: "
            + (
                "searches are slow, and fail (503)."
                if many
                else "searches are slow, and fail with more passages (503)."
            ),
            remedy=f"Let a superuser run in this database: {'; '.join(facts.unmarked)}; or, where nobody may: "
            "`ragcorp migrate --row-level-security off`.",
        )
    return Check(name=name, status=CheckStatus.OK, detail="in force for the role of the service")


def _clock(facts: ServiceFacts) -> Check:
    name = "clock"
    said = f"the database's is {abs(facts.skew_seconds):.1f} s {'ahead' if facts.skew_seconds > 0 else 'behind'}"
    if abs(facts.skew_seconds) <= MOST_SKEW_SECONDS:
        return Check(name=name, status=CheckStatus.OK, detail=said)
    return Check(
        name=name,
        status=CheckStatus.WARNING,
        detail=f"{said}: keys expire, and recent things count, at other times than meant.",
        remedy="Let both machines take their time from the same source (NTP).",
    )
