"""`with ragcorp.open()`: the same object, blocking, for scripts and notebooks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import ragcorp
from ragcorp.domain.answers import Answer, AnswerDelta, AnswerEvent, AnswerFinished, AnswerPrompt, Searched
from ragcorp.domain.exceptions import ConfigurationError, InvalidInputError, NotFoundError
from support.models.embedders import HashingEmbedder


class Chatty:
    """An answerer of the user's own, which tells when its stream is closed."""

    name = "chatty"

    def __init__(self) -> None:
        self.closed = threading.Event()

    async def answer(self, prompt: AnswerPrompt) -> AsyncGenerator[AnswerEvent]:
        try:
            for number in range(50):
                yield AnswerDelta(text=f"palabra {number} [1] ")
                await asyncio.sleep(0.01)
            yield AnswerFinished(abstained=False)
        finally:
            self.closed.set()

    async def aclose(self) -> None:
        return None


def test_the_same_methods_block(dsn: str, tmp_path: Path) -> None:
    parts = ragcorp.Parts(embedder=HashingEmbedder(), answerer=Chatty())
    with ragcorp.open(database_url=dsn, embedding_provider="none", enable_hybrid_search=True, parts=parts) as rag:
        (tmp_path / "b.md").write_text("Contrato con Beta.")
        rag.ingest_text("a.md", "Contrato con Acme Corporation.")
        assert rag.ingest_folder(tmp_path).created == 1
        assert rag.search("Acme Corporation").hits[0].chunk.external_id == "a.md"
        assert rag.ask("¿Quién es Acme Corporation?").citations
        documents, cursor = rag.documents(limit=1)
        assert [document.external_id for document in documents] == ["a.md"]
        assert [document.external_id for document in rag.documents(cursor=cursor)[0]] == ["b.md"]
        other = rag.as_principal(ragcorp.Principal(workspace="other"))
        with pytest.raises(NotFoundError):
            other.document("a.md")
        with pytest.raises(InvalidInputError):
            rag.search("")
        with pytest.raises(AttributeError):
            rag.nothing()
        assert "search" in dir(rag)


def test_a_stream_blocks_event_by_event_and_ends_when_it_is_left(dsn: str) -> None:
    answerer = Chatty()
    parts = ragcorp.Parts(embedder=HashingEmbedder(), answerer=answerer)
    with ragcorp.open(database_url=dsn, embedding_provider="none", parts=parts) as rag:
        rag.ingest_text("a.md", "Contrato con Acme Corporation.")
        kinds = [type(event) for event in rag.ask_stream("¿Quién es Acme?")]
        assert (kinds[0], kinds[-1]) == (Searched, Answer)
        assert kinds.count(AnswerDelta) > 10
        answerer.closed.clear()
        stream = rag.ask_stream("¿Quién es Acme?")
        for event in stream:
            if isinstance(event, AnswerDelta):
                break
        assert not answerer.closed.is_set()
        stream.close()
        assert answerer.closed.wait(5)


def test_several_threads_share_one(dsn: str) -> None:
    with ragcorp.open(
        database_url=dsn, embedding_provider="none", parts=ragcorp.Parts(embedder=HashingEmbedder())
    ) as rag:
        errors: list[Exception] = []

        def work(number: int) -> None:
            try:
                rag.ingest_text(f"{number}.md", f"aguja {number}")
                assert rag.search("aguja", mode="sparse").hits
            except Exception as error:  # noqa: BLE001 - looked at below
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert errors == []
        assert len(rag.search("aguja", mode="sparse").hits) == 8


def test_an_unknown_or_bad_setting_is_named_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="enable_hybrid"):
        ragcorp.open(enable_hybrid=True)
    with pytest.raises(ConfigurationError, match="RRF_K") as caught:
        ragcorp.open(rrf_k=-77)
    assert "-77" not in str(caught.value)


def test_a_database_that_is_not_migrated_is_not_migrated_unasked(postgres_server, make_database) -> None:  # type: ignore[no-untyped-def]
    empty = postgres_server.dsn(make_database())
    handle = ragcorp.open(database_url=empty, embedding_provider="none")
    with pytest.raises(ConfigurationError, match="ragcorp migrate"), handle:
        pass


async def opened(path: Path) -> tuple[int, str]:
    async with ragcorp.open(data_dir=path, embedding_provider="none", enable_hybrid_search=True) as rag:
        result = await rag.ingest_text("acme.md", "El contrato con Acme Corporation vence el 3 de mayo.")
        response = await rag.search("Acme Corporation")
        answer = await rag.ask("¿Cuándo vence el contrato con Acme Corporation?")
        assert "3 de mayo" in answer.text
        assert (await rag.ask("¿Cuántos planetas hay?")).abstained
        return result.pending, response.hits[0].chunk.external_id


@pytest.mark.anyio
async def test_ten_lines_on_a_bare_machine(postgres_server, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The embedded database from nothing, twice in the same folder."""
    folder = postgres_server.data_dir.parent / "own"
    assert await opened(folder) == (1, "acme.md")
    assert await opened(folder) == (1, "acme.md")
