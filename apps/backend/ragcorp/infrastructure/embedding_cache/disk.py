"""An embedder that keeps every vector on disk, for texts that are embedded repeatedly: evaluation sets."""

import hashlib
import sqlite3
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

import anyio.to_thread
from anyio import CapacityLimiter

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.models import Embedder

FILE = "embeddings.sqlite3"
BUSY_SECONDS = 30.0
RETRY_SECONDS = 0.02
BATCH = 8
"""Passages per call: most are in the file; the others go to the embedder in its own batch size."""

QUERY, PASSAGE = "query", "passage"

CREATE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
GET = "SELECT vector FROM vectors WHERE key = ?"
PUT = "INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)"


class VectorFile:
    """Vectors by key in one SQLite file. Several processes may use it at a time; each call is short."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the file in ``folder``; create both if missing. Raises ConfigurationError."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # one thread at a time uses it, but not always the same
            connection = sqlite3.connect(
                folder / FILE, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            connection.execute("PRAGMA synchronous = NORMAL")
            _patiently(lambda: connection.execute(CREATE))
        except (OSError, sqlite3.Error) as error:
            raise _unusable() from error
        return cls(connection)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        try:
            rows = [(key, self._connection.execute(GET, (key,)).fetchone()) for key in keys]
        except sqlite3.Error as error:
            raise _unusable() from error
        return {key: tuple(array("d", row[0])) for key, row in rows if row is not None}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.executemany(PUT, [(key, array("d", vector).tobytes()) for key, vector in vectors.items()])
        except sqlite3.Error as error:
            raise _unusable() from error

    def close(self) -> None:
        self._connection.close()


def _patiently(statement: Callable[[], object]) -> None:
    """Run a statement for which SQLite itself waits for no lock: another process may be making the file."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            statement()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


class DiskCachingEmbedder:
    """Embeds texts that are not in the file. Keys are SHA-256 of ``maker``, model, width, role and text.

    ``maker`` identifies the program and version, or the URL, that computes the model.
    """

    def __init__(self, *, embedder: Embedder, file: VectorFile, maker: str) -> None:
        self._embedder = embedder
        self._file = file
        self._maker = maker
        self._limiter = CapacityLimiter(1)

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def batch_size(self) -> int:
        return max(BATCH, self._embedder.batch_size)

    async def embed_query(self, text: str) -> Vector:
        key = self._key(QUERY, text)
        vectors = await self._get([key])
        if key not in vectors:
            vectors[key] = await self._embedder.embed_query(text)
            await self._put(vectors)
        return vectors[key]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        keys = [self._key(PASSAGE, text) for text in texts]
        vectors = await self._get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        at_once = max(1, self._embedder.batch_size)
        for start in range(0, len(missing), at_once):
            part = dict(list(missing.items())[start : start + at_once])
            embedded = dict(zip(part, await self._embedder.embed_passages(list(part.values())), strict=True))
            await self._put(embedded)
            vectors |= embedded
        return [vectors[key] for key in keys]

    async def aclose(self) -> None:
        await self._embedder.aclose()
        self._file.close()

    async def _get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        return await anyio.to_thread.run_sync(self._file.get, keys, limiter=self._limiter)

    async def _put(self, vectors: Mapping[bytes, Vector]) -> None:
        await anyio.to_thread.run_sync(self._file.put, vectors, limiter=self._limiter)

    def _key(self, role: str, text: str) -> bytes:
        parts = (self._maker, self.model.name, str(self.model.dimensions), role, text)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def _unusable() -> ConfigurationError:
    return ConfigurationError(
        "The cache of embeddings cannot be used.",
        field="--cache-dir",
        remedy="Name a folder that can be written, or remove the broken file embeddings.sqlite3 from it.",
    )
