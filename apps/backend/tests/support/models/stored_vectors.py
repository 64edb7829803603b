"""Embeddings of a set that are kept with it, so that a test of the local model's quality need not make them again.

A record is the key of DiskCachingEmbedder (32 bytes) and the vector in 384 signed bytes, scaled by its largest number.
What the file does not hold is embedded. To make it anew, in the folder apps/backend/tests:

    ragcorp eval sets/arbol-es --profile dense --cache-dir NEW
    python -m support.models.stored_vectors NEW sets/arbol-es/vectors.bin
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path

from ragcorp.domain.embeddings import Vector
from ragcorp.infrastructure.embedding_cache.disk import FILE, VectorFile
from ragcorp.infrastructure.embedding_cache.vectors import normalised

KEY, WIDTH = 32, 384
LARGEST = 127


def stored_vectors(path: Path) -> Mapping[bytes, Vector]:
    data = path.read_bytes()
    return {
        data[at : at + KEY]: normalised(list(array("b", data[at + KEY : at + KEY + WIDTH])), dimensions=WIDTH)
        for at in range(0, len(data), KEY + WIDTH)
    }


def fill_cache(folder: Path, vectors: Mapping[bytes, Vector]) -> None:
    file = VectorFile.open(folder)
    file.put(vectors)
    file.close()


def cached_vectors(folder: Path) -> Iterator[tuple[bytes, Vector]]:
    with sqlite3.connect(folder / FILE) as connection:
        for key, vector in connection.execute("SELECT key, vector FROM vectors ORDER BY key"):
            yield key, tuple(array("d", vector))


def main(folder: Path, path: Path) -> None:
    records = bytearray()
    for key, vector in cached_vectors(folder):
        scale = LARGEST / max(map(abs, vector))
        records += key + array("b", [round(value * scale) for value in vector]).tobytes()
    path.write_bytes(records)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
