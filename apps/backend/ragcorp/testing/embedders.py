"""What every Embedder must do.

    from ragcorp.testing.embedders import EmbedderConformance

    class TestMyEmbedder(EmbedderConformance):
        @pytest.fixture
        async def embedder(self):
            yield MyEmbedder()

        @pytest.fixture
        async def broken_embedder(self):
            yield MyEmbedder(url="http://127.0.0.1:9")  # a server that does not answer

Needs pytest with anyio's plugin.
"""

import asyncio
import math

import pytest

from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ports.models import Embedder

PASSAGES = ("El plazo de entrega es de 30 días.", "La cafetería abre a las ocho.", "El plazo de entrega es de 30 días.")


@pytest.mark.anyio
class EmbedderConformance:
    """Subclass it as ``Test...``; override ``embedder`` and, if it can fail, ``broken_embedder``.

    >>> class TestMyEmbedder(EmbedderConformance): ...
    """

    @pytest.fixture
    async def embedder(self) -> Embedder:
        raise NotImplementedError("Override the fixture `embedder` with your Embedder.")

    @pytest.fixture
    async def broken_embedder(self) -> Embedder:
        pytest.skip("This embedder has no system that could be out.")

    async def test_vectors_have_the_width_of_the_model_and_unit_length(self, embedder: Embedder) -> None:
        for vector in (await embedder.embed_query(PASSAGES[0]), *await embedder.embed_passages(PASSAGES)):
            assert len(vector) == embedder.model.dimensions
            assert all(math.isfinite(value) for value in vector)
            assert math.isclose(math.fsum(value * value for value in vector), 1.0, abs_tol=1e-3)

    async def test_passages_come_back_in_order(self, embedder: Embedder) -> None:
        first, other, same = await embedder.embed_passages(PASSAGES)
        assert first == pytest.approx(same, abs=1e-6)
        assert first != pytest.approx(other, abs=1e-6)

    async def test_no_passages_give_no_vectors(self, embedder: Embedder) -> None:
        assert list(await embedder.embed_passages([])) == []

    async def test_equal_queries_have_equal_vectors_also_in_parallel(self, embedder: Embedder) -> None:
        first, *others = await asyncio.gather(*(embedder.embed_query(PASSAGES[0]) for _ in range(4)))
        assert all(vector == pytest.approx(first, abs=1e-6) for vector in others)

    async def test_the_batch_size_is_positive(self, embedder: Embedder) -> None:
        assert embedder.batch_size >= 1

    async def test_an_outage_raises_embedder_unavailable(self, broken_embedder: Embedder) -> None:
        with pytest.raises(EmbedderUnavailableError) as caught:
            await broken_embedder.embed_query(PASSAGES[0])
        assert caught.value.reason
        with pytest.raises(EmbedderUnavailableError):
            await broken_embedder.embed_passages(PASSAGES)
