"""What every RetrievalSource must do.

    from ragcorp.testing.sources import RetrievalSourceConformance, SourceLoader

    class WikiLoader(SourceLoader):
        async def load(self, texts): ...  # a RetrievalSource over the texts, by workspace
        async def break_down(self): ...   # from now on the source's system is out

    class TestWikiSource(RetrievalSourceConformance):
        @pytest.fixture
        async def loader(self):
            yield WikiLoader()

Needs pytest with anyio's plugin.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import pytest

from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import RetrievalSource, SourceQuery
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import HitKey

TEXTS = {
    "default": ["aguja", "aguja aguja", "aguja aguja aguja", "pajar", "aguja fina", "una aguja en el pajar"],
    "other": ["aguja ajena", "pajar ajeno"],
}


def needle_query(text: str = "aguja", *, limit: int = 10, workspace: str = "default") -> SourceQuery:
    """Return a query without filters for ``text``.

    >>> needle_query(limit=3).text
    'aguja'
    """
    return SourceQuery(text=text, principal=Principal(workspace=workspace), filters=(), limit=limit)


class SourceLoader(ABC):
    """Builds sources over texts, and breaks the system behind them.

    >>> class Loader(SourceLoader):
    ...     async def load(self, texts): ...
    ...     async def break_down(self): ...
    >>> isinstance(Loader(), SourceLoader)
    True
    """

    @abstractmethod
    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource:
        """Return a source over ``texts``, lists of passages by workspace."""

    @abstractmethod
    async def break_down(self) -> None:
        """Make every later call of the source fail, as an outage of its system would."""


@pytest.mark.anyio
class RetrievalSourceConformance:
    """Subclass it as ``Test...`` and override the fixture ``loader``.

    >>> class TestMySource(RetrievalSourceConformance): ...
    """

    @pytest.fixture
    async def loader(self) -> SourceLoader:
        raise NotImplementedError("Override the fixture `loader` with your SourceLoader.")

    async def _hits(self, source: RetrievalSource, query: SourceQuery) -> list[HitKey]:
        return [hit.key for hit in (await source.retrieve(query)).ranked_list.hits]

    async def test_hits_are_sorted_and_carry_the_source(self, loader: SourceLoader) -> None:
        source = await loader.load(TEXTS)
        ranked = (await source.retrieve(needle_query())).ranked_list
        assert ranked.source == source.name
        assert len(ranked) >= 3
        scores = [hit.score for hit in ranked]
        assert scores == sorted(scores, reverse=True)

    async def test_the_head_does_not_depend_on_the_limit(self, loader: SourceLoader) -> None:
        source = await loader.load(TEXTS)
        every = await self._hits(source, needle_query(limit=10))
        for limit in range(1, len(every) + 1):
            assert await self._hits(source, needle_query(limit=limit)) == every[:limit]

    async def test_equal_queries_have_equal_answers_also_in_parallel(self, loader: SourceLoader) -> None:
        source = await loader.load(TEXTS)
        first = (await source.retrieve(needle_query())).ranked_list
        answers = await asyncio.gather(*(source.retrieve(needle_query()) for _ in range(10)))
        assert all(answer.ranked_list == first for answer in answers)

    async def test_a_workspace_sees_only_its_own_texts(self, loader: SourceLoader) -> None:
        source = await loader.load(TEXTS)
        mine = await self._hits(source, needle_query())
        theirs = await self._hits(source, needle_query(workspace="other"))
        assert theirs
        assert not set(mine) & set(theirs)
        assert await self._hits(source, needle_query(workspace="third")) == []

    async def test_an_empty_store_gives_an_empty_list(self, loader: SourceLoader) -> None:
        source = await loader.load({})
        answer = await source.retrieve(needle_query())
        assert len(answer.ranked_list) == 0
        assert answer.incomplete is None

    async def test_no_query_text_raises(self, loader: SourceLoader) -> None:
        source = await loader.load(TEXTS)
        for text in ("'", "de la", "a & | ! <-> \\", "😀", "x" * 2000, "%s %(a)s {} $1"):
            await source.retrieve(needle_query(text))

    async def test_an_outage_raises_source_unavailable(self, loader: SourceLoader) -> None:
        source = await loader.load(TEXTS)
        await loader.break_down()
        with pytest.raises(SourceUnavailableError) as caught:
            await source.retrieve(needle_query())
        assert caught.value.reason
