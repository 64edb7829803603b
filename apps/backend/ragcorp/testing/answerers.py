"""What every Answerer must do.

    from ragcorp.testing.answerers import AnswererConformance

    class TestMyAnswerer(AnswererConformance):
        @pytest.fixture
        async def answerer(self):
            yield MyAnswerer()

        @pytest.fixture
        async def broken_answerer(self):
            yield MyAnswerer(url="http://127.0.0.1:9")  # a server that does not answer

Needs pytest with anyio's plugin.
"""

import asyncio
import re
from collections.abc import Sequence
from uuid import UUID

import pytest

from ragcorp.domain.answers import AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt, Passage, QuotedPiece
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import AnswererUnavailableError
from ragcorp.domain.ports.models import Answerer

QUESTION = "¿Cuál es el plazo de entrega?"
TEXTS = ("El plazo de entrega es de 30 días hábiles.", "La cafetería abre a las ocho.")


def numbered(texts: Sequence[str]) -> tuple[Passage, ...]:
    """Return passages with citation numbers from 1, each of a document of its own.

    >>> [passage.n for passage in numbered(["uno", "dos"])]
    [1, 2]
    """
    return tuple(
        Passage(
            n=n,
            chunk=Chunk(
                id=str(n),
                document_id=UUID(int=n),
                external_id=f"{n}.md",
                chunk_index=0,
                content=text,
                heading_path=(),
                title="",
                language="es",
                path=f"{n}.md",
                metadata={},
                line_start=1,
                line_end=1,
                page_start=None,
                page_end=None,
            ),
        )
        for n, text in enumerate(texts, start=1)
    )


@pytest.mark.anyio
class AnswererConformance:
    """Subclass it as ``Test...``; override ``answerer`` and, if it can fail, ``broken_answerer``.

    >>> class TestMyAnswerer(AnswererConformance): ...
    """

    @pytest.fixture
    async def answerer(self) -> Answerer:
        raise NotImplementedError("Override the fixture `answerer` with your Answerer.")

    @pytest.fixture
    async def broken_answerer(self) -> Answerer:
        pytest.skip("This answerer has no system that could be out.")

    async def _events(self, answerer: Answerer, *, texts: Sequence[str] = TEXTS) -> list[AnswerEvent]:
        prompt = AnswerPrompt(question=QUESTION, language="es", workspace="default", passages=numbered(texts))
        return [event async for event in answerer.answer(prompt)]

    async def test_the_answerer_has_a_name(self, answerer: Answerer) -> None:
        assert answerer.name

    async def test_exactly_the_last_event_finishes(self, answerer: Answerer) -> None:
        events = await self._events(answerer)
        assert [isinstance(event, AnswerFinished) for event in events] == [False] * (len(events) - 1) + [True]

    async def test_an_answer_has_text(self, answerer: Answerer) -> None:
        *pieces, end = await self._events(answerer)
        assert isinstance(end, AnswerFinished)
        if not end.abstained:
            assert "".join(piece.text for piece in pieces if isinstance(piece, AnswerDelta | QuotedPiece)).strip()

    async def test_only_given_passages_are_cited(self, answerer: Answerer) -> None:
        for event in await self._events(answerer):
            if isinstance(event, QuotedPiece):
                assert event.quote in TEXTS[event.n - 1]
            elif isinstance(event, AnswerDelta):
                assert all(1 <= int(n) <= len(TEXTS) for n in re.findall(r"\[(\d+)\]", event.text))

    async def test_without_passages_nothing_is_quoted(self, answerer: Answerer) -> None:
        assert not any(isinstance(event, QuotedPiece) for event in await self._events(answerer, texts=()))

    async def test_equal_prompts_finish_also_in_parallel(self, answerer: Answerer) -> None:
        for events in await asyncio.gather(*(self._events(answerer) for _ in range(4))):
            assert isinstance(events[-1], AnswerFinished)

    async def test_an_outage_raises_answerer_unavailable(self, broken_answerer: Answerer) -> None:
        with pytest.raises(AnswererUnavailableError) as caught:
            await self._events(broken_answerer)
        assert caught.value.reason
