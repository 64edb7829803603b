"""Embeddings of evaluation sets are made once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ragcorp.domain.embeddings import EmbeddingModel, Vector
from ragcorp.domain.exceptions import ConfigurationError, EmbedderUnavailableError
from ragcorp.infrastructure.embedding_cache.disk import FILE, DiskCachingEmbedder, VectorFile
from support.models.embedders import HashingEmbedder

pytestmark = pytest.mark.anyio


@pytest.fixture
def file(tmp_path: Path) -> Iterator[VectorFile]:
    opened = VectorFile.open(tmp_path / "cache")
    yield opened
    opened.close()


def caching(inner: HashingEmbedder, file: VectorFile, *, maker: str = "test") -> DiskCachingEmbedder:
    return DiskCachingEmbedder(embedder=inner, file=file, maker=maker)


async def test_a_text_is_embedded_once_and_comes_back_to_the_last_bit(file: VectorFile) -> None:
    inner = HashingEmbedder()
    first = await caching(inner, file).embed_passages(["uno", "dos", "uno"])
    again = await caching(inner, file).embed_passages(["tres", "dos", "uno"])
    assert inner.embedded == ["uno", "dos", "tres"]
    assert first == [inner.vector(text) for text in ("uno", "dos", "uno")]
    assert again == [inner.vector(text) for text in ("tres", "dos", "uno")]


async def test_a_query_and_a_passage_of_one_text_are_two(file: VectorFile) -> None:
    inner = HashingEmbedder()
    await caching(inner, file).embed_passages(["uno"])
    assert [await caching(inner, file).embed_query("uno") for _ in range(2)] == [inner.vector("uno")] * 2
    assert (inner.embedded, inner.queries) == (["uno"], ["uno"])


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        (EmbeddingModel(name="other", dimensions=8), "test"),
        (EmbeddingModel(name="test-embedder", dimensions=16), "test"),
        (EmbeddingModel(name="test-embedder", dimensions=8), "another server"),
    ],
)
async def test_another_model_width_or_maker_shares_nothing(file: VectorFile, model: EmbeddingModel, maker: str) -> None:
    await caching(HashingEmbedder(), file).embed_query("uno")
    other = HashingEmbedder(model=model)
    assert len(await caching(other, file, maker=maker).embed_query("uno")) == model.dimensions
    assert other.queries == ["uno"]


async def test_what_was_made_before_a_failure_is_kept(file: VectorFile) -> None:
    class FailsAtTheThird(HashingEmbedder):
        async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
            if len(self.embedded) == 2:
                raise EmbedderUnavailableError("out")
            return await super().embed_passages(texts)

    inner = FailsAtTheThird()
    inner.batch_size = 1
    with pytest.raises(EmbedderUnavailableError):
        await caching(inner, file).embed_passages(["uno", "dos", "tres"])
    later = HashingEmbedder()
    await caching(later, file).embed_passages(["uno", "dos", "tres"])
    assert later.embedded == ["tres"]


FILL = """
import sys
from pathlib import Path
from ragcorp.infrastructure.embedding_cache.disk import VectorFile
opened, start = VectorFile.open(Path(sys.argv[1])), int(sys.argv[2])
for number in range(start, start + 200):
    opened.put({number.to_bytes(4): (float(number),)})
opened.close()
"""


def test_two_processes_write_at_a_time(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", FILL, str(tmp_path), str(start)]) for start in (0, 100)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    opened = VectorFile.open(tmp_path)
    keys = [number.to_bytes(4) for number in range(300)]
    assert opened.get(keys) == {key: (float(number),) for number, key in enumerate(keys)}
    opened.close()


def test_a_file_that_is_no_cache_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database, " * 100)
    with pytest.raises(ConfigurationError, match="embeddings") as error:
        VectorFile.open(tmp_path)
    assert error.value.field == "--cache-dir"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        VectorFile.open(tmp_path / "file" / "cache")
