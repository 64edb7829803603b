"""The backup file: a ZIP with `manifest.json` and `database.dump` (pg_dump's custom format), not compressed again.

A ZIP has a checksum for each entry, which pg_dump's own format has not: a damaged byte is detected before anything is
restored. `unzip` and `pg_restore` read it without ragcorp.
"""

import json
import os
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from ragcorp.domain.exceptions import ConflictError, InvalidInputError, MissingFileError, StorageUnavailableError

FORMAT = 1
CHUNK_BYTES = 1 << 20

_MANIFEST = "manifest.json"
_DUMP = "database.dump"
_MAX_MANIFEST_BYTES = 1 << 20
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_REVISION = re.compile(r"[0-9A-Za-z_]{1,32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a backup. ``rows`` counts every table in the dump."""

    ragcorp: str
    created_at: str
    postgresql: str
    revision: str
    embedding_model: str | None
    extensions: tuple[str, ...]
    rows: Mapping[str, int]

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, sort_keys=True)


def parse_manifest(text: bytes) -> Manifest:
    """Raises InvalidInputError for anything but a manifest of a format that this version knows."""
    try:
        fields = json.loads(text)
        version = fields["format"]
        manifest = Manifest(
            ragcorp=str(fields["ragcorp"]),
            created_at=str(fields["created_at"]),
            postgresql=str(fields["postgresql"]),
            revision=str(fields["revision"]),
            embedding_model=None if fields["embedding_model"] is None else str(fields["embedding_model"]),
            extensions=tuple(map(str, fields["extensions"])),
            rows={str(name): int(count) for name, count in fields["rows"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _not_a_backup() from error
    if not isinstance(version, int) or version > FORMAT:
        raise InvalidInputError(
            "The backup was made by a newer version of ragcorp, in a format that this one does not know.",
            field="FILE",
            remedy="Install the version that made it, or a newer one.",
        )
    named = (*manifest.rows, *manifest.extensions)
    if not all(_NAME.fullmatch(name) for name in named) or not _REVISION.fullmatch(manifest.revision):
        raise _not_a_backup()
    return manifest


class Archive:
    """A backup that is opened for reading."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._zip = opened
        try:
            entry = opened.getinfo(_MANIFEST)
            self.dump_bytes = opened.getinfo(_DUMP).file_size
        except KeyError as error:
            raise _not_a_backup() from error
        if entry.file_size > _MAX_MANIFEST_BYTES:
            raise _not_a_backup()
        with damage_translated():
            self.manifest = parse_manifest(opened.read(entry))

    def check(self) -> None:
        """Read all of it once. Raises InvalidInputError when a checksum does not fit."""
        with damage_translated():
            if self._zip.testzip() is not None:
                raise _damaged()

    @contextmanager
    def dump(self) -> Iterator[IO[bytes]]:
        with damage_translated(), self._zip.open(_DUMP) as stream:
            yield stream


@contextmanager
def damage_translated() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise _damaged() from error


@contextmanager
def open_archive(file: Path) -> Iterator[Archive]:
    """Raises MissingFileError, or InvalidInputError for a file that is not a complete backup."""
    try:
        opened = zipfile.ZipFile(file)
    except FileNotFoundError as error:
        raise MissingFileError("There is no such backup.", field="FILE", remedy="Check its path.") from error
    except zipfile.BadZipFile as error:
        raise _not_a_backup() from error
    except OSError as error:
        raise InvalidInputError(
            "The backup cannot be read.", field="FILE", remedy="Check that it is a file, and its rights."
        ) from error
    with opened:
        yield Archive(opened)


@contextmanager
def new_archive(file: Path, manifest: Manifest, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Yield the stream for the dump. The file appears at its place only when it is complete and on the disk.

    Raises ConflictError if the file exists and may not be overwritten, StorageUnavailableError for a full disk.
    """
    refuse_existing(file, overwrite=overwrite)
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "w+b") as stream:
                with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
                    archive.writestr(_MANIFEST, manifest.to_json())
                    with archive.open(_DUMP, "w", force_zip64=True) as dump:
                        yield dump
                stream.flush()
                os.fsync(stream.fileno())
            _put_in_place(fresh, file, overwrite=overwrite)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise StorageUnavailableError(
            f"The backup cannot be written: {os.strerror(error.errno or 0)}.",
            reason="disk",
            field="FILE",
            remedy="Check the folder, its rights and its free space.",
        ) from error


def refuse_existing(file: Path, *, overwrite: bool) -> None:
    if file.is_dir() or not file.parent.is_dir():
        raise InvalidInputError(
            "The backup needs the path of a file in a folder that exists.", field="FILE", remedy="Give such a path."
        )
    if file.exists() and not overwrite:
        raise ConflictError(
            "There is a file of that name.", field="FILE", remedy="Choose another name, or overwrite it with --force."
        )


def _put_in_place(fresh: Path, file: Path, *, overwrite: bool) -> None:
    if overwrite:
        fresh.replace(file)
    else:
        try:
            file.hardlink_to(fresh)
        except FileExistsError:
            refuse_existing(file, overwrite=False)
        except OSError:  # a file system without hard links
            refuse_existing(file, overwrite=False)
            fresh.replace(file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _not_a_backup() -> InvalidInputError:
    return InvalidInputError(
        "The file is not a complete backup of ragcorp.",
        field="FILE",
        remedy="Give a file that `ragcorp backup` made; a dump of pg_dump's own is restored with pg_restore.",
    )


def _damaged() -> InvalidInputError:
    return InvalidInputError(
        "The backup is damaged: a checksum does not fit.", field="FILE", remedy="Use another copy or another backup."
    )
