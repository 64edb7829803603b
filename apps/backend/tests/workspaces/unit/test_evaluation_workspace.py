"""The throw-away workspace goes whatever happens, and settling it says when the model gives out."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from ragcorp.application.workspaces.remove import throw_away_workspace
from ragcorp.application.workspaces.settle import MAX_FAILED_ROUNDS, SettleWorkspace
from ragcorp.domain.embeddings import BacklogCounts, Vector
from ragcorp.domain.exceptions import EmbedderUnavailableError
from ragcorp.domain.ingestion import EmbedProgress
from ragcorp.domain.principal import Principal

pytestmark = pytest.mark.anyio

NAME = "eval-1"


class FakeWorkspaces:
    """Removes slowly, and keeps count."""

    def __init__(self) -> None:
        self.removing = asyncio.Event()
        self.removed: list[str] = []
        self.refreshed: list[str] = []

    async def remove(self, workspace: str) -> None:
        self.removing.set()
        await asyncio.sleep(0.01)
        self.removed.append(workspace)

    async def abandoned(self, pattern: str, *, older_than_days: float) -> list[str]:
        return []

    async def refresh_statistics(self, workspace: str) -> None:
        self.refreshed.append(workspace)

    async def vectors(self, workspace: str, *, limit: int) -> list[Vector]:
        return []


class FakeBacklog:
    """Embeds one passage a call, unless the call's turn says that it fails."""

    def __init__(self, pending: int, *, fails: str = "") -> None:
        self.pending = pending
        self._fails = list(fails)
        self.calls = 0

    async def embed(self, *, document_id: UUID | None = None, workspace: str | None = None) -> EmbedProgress:
        assert workspace == NAME
        self.calls += 1
        if self._fails and self._fails.pop(0) == "x":
            return EmbedProgress(embedded=0, failed=1)
        self.pending -= 1
        return EmbedProgress(embedded=1, failed=0)

    async def counts(self, *, document_id: UUID | None = None, workspace: str | None = None) -> BacklogCounts:
        return BacklogCounts(pending=self.pending, failed=0)


async def test_the_workspace_lasts_as_long_as_the_block() -> None:
    workspaces = FakeWorkspaces()
    async with throw_away_workspace(workspaces, name=NAME) as principal:
        assert principal.workspace == NAME
        assert workspaces.removed == []
    assert workspaces.removed == [NAME]


async def test_it_goes_after_an_error() -> None:
    workspaces = FakeWorkspaces()
    with pytest.raises(ZeroDivisionError):
        async with throw_away_workspace(workspaces, name=NAME):
            raise ZeroDivisionError
    assert workspaces.removed == [NAME]


@pytest.mark.parametrize("while_removing", [False, True])
async def test_it_goes_after_a_cancellation_also_of_the_removal(while_removing: bool) -> None:
    workspaces = FakeWorkspaces()
    inside = asyncio.Event()

    async def use() -> None:
        async with throw_away_workspace(workspaces, name=NAME):
            inside.set()
            if not while_removing:
                await asyncio.sleep(60)

    task = asyncio.ensure_future(use())
    await (workspaces.removing if while_removing else inside).wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert workspaces.removed == [NAME]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragcorp.application.workspaces.settle.POLL_SECONDS", 0.0)


async def test_statistics_are_refreshed_when_all_vectors_are_there(no_waiting: None) -> None:
    backlog, workspaces = FakeBacklog(3, fails=".xx.x"), FakeWorkspaces()
    seen: list[tuple[int, int]] = []

    class Bar:
        def __enter__(self) -> object:
            return lambda done, total: seen.append((done, total))

        def __exit__(self, *_: object) -> None:
            assert workspaces.refreshed == []

    await SettleWorkspace(embed_pending=backlog, workspaces=workspaces).settle(
        principal=Principal(workspace=NAME),
        progress=lambda task, unit: Bar(),  # type: ignore[arg-type,return-value]
    )
    assert seen == [(1, 3), (1, 3), (1, 3), (2, 3), (2, 3), (3, 3)]
    assert workspaces.refreshed == [NAME]


async def test_a_model_that_fails_again_and_again_is_given_up(no_waiting: None) -> None:
    backlog = FakeBacklog(3, fails="x" * 10)
    with pytest.raises(EmbedderUnavailableError):
        await SettleWorkspace(embed_pending=backlog, workspaces=FakeWorkspaces()).settle(
            principal=Principal(workspace=NAME)
        )
    assert backlog.calls == MAX_FAILED_ROUNDS


async def test_without_a_model_there_is_nothing_to_wait_for() -> None:
    workspaces = FakeWorkspaces()
    await SettleWorkspace(embed_pending=None, workspaces=workspaces).settle(principal=Principal(workspace=NAME))
    assert workspaces.refreshed == [NAME]
