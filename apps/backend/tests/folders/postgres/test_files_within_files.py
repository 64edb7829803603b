"""Mails and archives of a watched folder: their parts come, change and go with the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragcorp.domain.ports.folders import SyncCounts
from support.files.watched_trees import OLD, Folder
from support.parsing.kinds import zipped
from support.parsing.mails import mail_with
from support.retrieval.corpus import found

pytestmark = pytest.mark.anyio


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(OLD, OLD))


async def test_parts_follow_their_file(folder: Folder) -> None:
    write(folder.root / "pedido.eml", mail_with({"nota.md": b"# Nota\n\nfranquicia", "viejo.txt": b"viejo"}))
    write(folder.root / "tarifas.zip", zipped({"norte.csv": "Muelle;Precio\nNorte;4410\n"}))
    assert await folder.once() == SyncCounts(files=2, created=2)
    assert await folder.names() == [
        "pedido.eml",
        "pedido.eml/nota.md",
        "pedido.eml/viejo.txt",
        "tarifas.zip",
        "tarifas.zip/norte.csv",
    ]
    assert await folder.once() == SyncCounts(files=2, unchanged=2)
    write(folder.root / "pedido.eml", mail_with({"nota.md": b"# Nota\n\npenalidad"}))
    (folder.root / "tarifas.zip").unlink()
    assert await folder.once() == SyncCounts(files=1, updated=1, deleted=1)
    assert await folder.names() == ["pedido.eml", "pedido.eml/nota.md"]
    assert await found(folder.rag, "penalidad") == ["pedido.eml/nota.md"]
    assert (await folder.rag.restore("tarifas.zip")).parts == 1
