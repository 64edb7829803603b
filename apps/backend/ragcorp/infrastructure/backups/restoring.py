"""Restores a backup in one transaction: it replaces the contents of the database, or nothing changes.

ragcorp controls the transaction, not pg_restore: psql gets the statements through a pipe, and COMMIT only after
pg_restore succeeded, every checksum matched, and every table has the rows that the manifest counted.
"""

import json
import re
import tempfile
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from ragcorp.domain.exceptions import ConfigurationError, ConflictError, InvalidInputError, RagcorpError
from ragcorp.infrastructure.backups.archive import CHUNK_BYTES, Archive, Manifest
from ragcorp.infrastructure.backups.contents import (
    EVERY_ROW,
    OTHER_SESSIONS,
    connected,
    count_rows,
    has_content,
    scalar,
)
from ragcorp.infrastructure.backups.programs import Child, Programs
from ragcorp.infrastructure.backups.writing import OnBytes

_PSQL = (
    "--no-psqlrc",
    "--quiet",
    "--no-password",
    "--file=-",
    "--output=/dev/null",
    "--set=ON_ERROR_STOP=1",
    "--set=VERBOSITY=sqlstate",
)
_PG_RESTORE = ("--no-owner", "--no-privileges", "--enable-row-security", "--file=-")
_LEFT_OUT = (b" EXTENSION ", b" SCHEMA - public", b" SCHEMA public", b" DEFAULT ACL ")
"""Entries of a dump that already exist on the server, created with rights that an owner may lack."""

_LEAKPROOF = re.compile(rb"(?m)^(    LANGUAGE .*) LEAKPROOF\b")
"""Only a superuser may mark a function LEAKPROOF. The migration that follows marks it again."""

_EMPTY_THE_SCHEMA = """
    BEGIN;
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = '10s';
    DO $drop$
    DECLARE statement text;
    BEGIN
        -- list all before dropping the first: an object dropped with another has no name afterwards
        FOREACH statement IN ARRAY COALESCE((
            SELECT array_agg(format('DROP %s IF EXISTS %s CASCADE', object.type, object.identity))
            FROM pg_depend AS dependent, LATERAL pg_identify_object(dependent.classid, dependent.objid, 0) AS object
            WHERE dependent.refclassid = 'pg_namespace'::regclass AND dependent.refobjid = 'public'::regnamespace
              AND dependent.deptype = 'n' AND dependent.objsubid = 0
              AND dependent.classid NOT IN ('pg_extension'::regclass, 'pg_default_acl'::regclass,
                                       'pg_statistic_ext'::regclass)
              -- e: an extension's, which stays; i: a part of another object, such as an identity column's sequence,
              -- and dropped with that alone. Extended statistics too go with their table.
              AND NOT EXISTS (SELECT FROM pg_depend AS part WHERE part.classid = dependent.classid
                              AND part.objid = dependent.objid AND part.objsubid = 0 AND part.deptype IN ('e', 'i'))
        ), '{}')
        LOOP
            EXECUTE statement;
        END LOOP;
    END $drop$;
"""
_CHECK_AND_COMMIT = """
    DO $check$
    DECLARE expected record; actual bigint;
    BEGIN
        FOR expected IN
            SELECT key, value::bigint AS rows FROM jsonb_each_text(current_setting('ragcorp.expected')::jsonb)
        LOOP
            EXECUTE format('SELECT count(*) FROM public.%I', expected.key) INTO actual;
            IF actual <> expected.rows THEN
                RAISE EXCEPTION 'rows are missing' USING ERRCODE = 'RC001';
            END IF;
        END LOOP;
    END $check$;
    COMMIT;
    SET client_min_messages = error;
    ANALYZE;
"""
_HAS_EXTENSION: LiteralString = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = %s)"


def check_backup(archive: Archive, *, known_revisions: Collection[str], head: str) -> None:
    """Raises InvalidInputError for a damaged backup, or one of a schema that this version does not know."""
    if archive.manifest.revision not in known_revisions:
        raise InvalidInputError(
            f"The backup has schema revision {archive.manifest.revision}; this version knows those up to {head}.",
            field="FILE",
            remedy=f"Install ragcorp {archive.manifest.ragcorp} or newer, and restore with that.",
        )
    archive.check()


def check_target(dsn: str, manifest: Manifest, *, replace: bool) -> bool:
    """Return whether the database has content. Raises ConflictError or ConfigurationError for an unsuitable target."""
    with connected(dsn) as connection:
        filled = has_content(count_rows(connection))
        if filled and not replace:
            raise ConflictError(
                "The database is not empty.",
                remedy="Restore into a new one, or add --replace: it makes a backup of this one first.",
            )
        if scalar(connection, OTHER_SESSIONS):
            raise ConflictError(
                "Other programs are connected to the database.",
                remedy="Stop the services and commands that use it, and run the command again.",
            )
        for name in manifest.extensions:
            _ensure_extension(connection, name)
        return filled


def restore(archive: Archive, *, dsn: str, programs: Programs, on_bytes: OnBytes | None = None) -> None:
    """Replace the schema's contents with the backup's. Blocking. ``dsn`` is the owner's, who will own everything."""
    contents = _read(archive, [programs.pg_restore, "--list"])
    with (
        tempfile.TemporaryDirectory(prefix="ragcorp-restore-") as folder,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as reading_errors,
    ):
        entries = Path(folder, "contents")
        entries.write_bytes(b"".join(line for line in contents.splitlines(keepends=True) if _is_restored(line)))
        scripted = [programs.pg_restore, *_PG_RESTORE, f"--use-list={entries}"]
        definitions = _LEAKPROOF.sub(rb"\1", _read(archive, [*scripted, "--section=pre-data"]))
        data = [*scripted, "--section=data", "--section=post-data"]
        with (
            Child([programs.psql, *_PSQL], dsn=dsn, options=EVERY_ROW, errors=errors) as psql,
            Child(data, writes=True, errors=reading_errors) as reader,
        ):
            try:
                psql.stdin.write(_EMPTY_THE_SCHEMA.encode() + definitions)
                _send(archive, reader, psql, on_bytes)
                failed = psql.wait() != 0
            except BrokenPipeError:
                psql.wait()
                failed = True
            if failed:
                raise psql.failure("The restore failed, and nothing was changed")


def _send(archive: Archive, reader: Child, psql: Child, on_bytes: OnBytes | None) -> None:
    feeder = _Feeder(archive, reader.stdin, on_bytes)
    feeder.start()
    try:
        while chunk := reader.stdout.read(CHUNK_BYTES):
            psql.stdin.write(chunk)
    finally:
        reader.stdout.close()
        feeder.join()
    if reader.wait() != 0 or feeder.error is not None:
        psql.end()  # without COMMIT: nothing has happened
        raise feeder.error or reader.failure("The dump in the backup cannot be read, and nothing was changed")
    expected = sql.Literal(json.dumps(dict(archive.manifest.rows))).as_string(None)
    psql.stdin.write(f"SELECT pg_catalog.set_config('ragcorp.expected', {expected}, true);\n".encode())
    psql.stdin.write(_CHECK_AND_COMMIT.encode())
    psql.stdin.flush()


class _Feeder(threading.Thread):
    """Writes the dump to a program while another thread reads its output."""

    def __init__(self, archive: Archive, into: IO[bytes], on_bytes: OnBytes | None = None) -> None:
        super().__init__(name="backup feeder", daemon=True)
        self._archive = archive
        self._into = into
        self._on_bytes = on_bytes
        self.error: RagcorpError | None = None

    def run(self) -> None:
        done = 0
        try:
            with self._archive.dump() as dump, suppress(BrokenPipeError):
                while chunk := dump.read(CHUNK_BYTES):
                    self._into.write(chunk)
                    done += len(chunk)
                    if self._on_bytes is not None:
                        self._on_bytes(done, self._archive.dump_bytes)
        except RagcorpError as error:
            self.error = error
        finally:
            with suppress(BrokenPipeError):
                self._into.close()


def _read(archive: Archive, arguments: Sequence[str]) -> bytes:
    """Return pg_restore's output on a dump, where that is small."""
    with tempfile.TemporaryFile() as errors, Child(arguments, writes=True, errors=errors) as child:
        feeder = _Feeder(archive, child.stdin)
        feeder.start()
        written = child.stdout.read()
        feeder.join()
        if child.wait() != 0:
            raise child.failure("The dump in the backup cannot be read, and nothing was changed")
    return written


def _is_restored(line: bytes) -> bool:
    return not any(entry in line for entry in _LEFT_OUT)


def _ensure_extension(connection: psycopg.Connection[TupleRow], name: str) -> None:
    if connection.execute(_HAS_EXTENSION, (name,)).fetchone() == (True,):
        return
    try:
        connection.execute(sql.SQL("CREATE EXTENSION {} SCHEMA public").format(sql.Identifier(name)))
    except psycopg.Error as error:
        raise ConfigurationError(
            f"The backup needs the extension '{name}', which the database lacks and its owner may not add.",
            field="DATABASE_URL",
            remedy=f"Install it on the server, and run there as a superuser: CREATE EXTENSION {name};",
        ) from error
