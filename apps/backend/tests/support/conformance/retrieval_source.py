"""What every RetrievalSource must do. A subclass loads texts by workspace and gives the source over them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ragcorp.domain.exceptions import SourceUnavailableError
from ragcorp.domain.ports.sources import RetrievalSource, SourceQuery
from ragcorp.domain.principal import Principal
from support.storage.stored import keys

pytestmark = pytest.mark.anyio

TEXTS = {
    "default": ["aguja", "aguja aguja", "aguja aguja aguja", "pajar", "aguja fina", "una aguja en el pajar"],
    "other": ["aguja ajena", "pajar ajeno"],
}


def asked(text: str = "aguja", *, limit: int = 10, workspace: str = "default") -> SourceQuery:
    return SourceQuery(text=text, principal=Principal(workspace=workspace), filters=(), limit=limit)


class Loader(ABC):
    """Makes sources over texts, and takes the system behind them away."""

    @abstractmethod
    async def load(self, texts: Mapping[str, Sequence[str]]) -> RetrievalSource: ...

    @abstractmethod
    async def break_down(self) -> None: ...


class RetrievalSourceConformance:
    @pytest.fixture
    async def loader(self) -> Loader:
        raise NotImplementedError

    async def test_it_finds_and_signs_what_it_finds(self, loader: Loader) -> None:
        source = await loader.load(TEXTS)
        found = (await source.retrieve(asked())).ranked_list
        assert found.source == source.name
        assert len(found) >= 3
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)

    async def test_the_head_does_not_depend_on_the_limit(self, loader: Loader) -> None:
        source = await loader.load(TEXTS)
        every = keys((await source.retrieve(asked(limit=10))).ranked_list.hits)
        for limit in range(1, len(every) + 1):
            assert keys((await source.retrieve(asked(limit=limit))).ranked_list.hits) == every[:limit]

    async def test_the_same_question_has_the_same_answer_also_side_by_side(self, loader: Loader) -> None:
        source = await loader.load(TEXTS)
        first = (await source.retrieve(asked())).ranked_list
        answers: list[Any] = await asyncio.gather(*(source.retrieve(asked()) for _ in range(10)))
        assert all(answer.ranked_list == first for answer in answers)

    async def test_a_workspace_sees_its_own_only(self, loader: Loader) -> None:
        source = await loader.load(TEXTS)
        mine = keys((await source.retrieve(asked())).ranked_list.hits)
        theirs = keys((await source.retrieve(asked(workspace="other"))).ranked_list.hits)
        assert theirs
        assert not set(mine) & set(theirs)
        assert len((await source.retrieve(asked(workspace="third"))).ranked_list) == 0

    async def test_nothing_stored_is_an_empty_list(self, loader: Loader) -> None:
        source = await loader.load({})
        answer = await source.retrieve(asked())
        assert len(answer.ranked_list) == 0
        assert answer.incomplete is None

    async def test_no_text_of_a_query_is_an_error(self, loader: Loader) -> None:
        source = await loader.load(TEXTS)
        for text in ("'", "de la", "a & | ! <-> \\", "😀", "x" * 2000, "%s %(a)s {} $1"):
            await source.retrieve(asked(text))

    async def test_an_outage_is_said(self, loader: Loader) -> None:
        source = await loader.load(TEXTS)
        await loader.break_down()
        with pytest.raises(SourceUnavailableError) as caught:
            await source.retrieve(asked())
        assert caught.value.reason
