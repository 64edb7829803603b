"""The lines of nasty_inputs.jsonl for ingest, search, ask, grep and read_file, each over the whole service.

The database and the files are real ones.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from ragcorp.domain.embeddings import Vector
from ragcorp.infrastructure.openai_compatible.prompt import chat_messages
from ragcorp.infrastructure.postgres.embeddings.backlog import PostgresEmbeddingBacklog
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from support.http.fakes import ScriptedAnswerer
from support.http.nasty_inputs import NastyInput, expand, read_nasty_inputs
from support.models.embedders import HashingEmbedder
from support.storage.postgres import open_database, repository_over
from support.storage.stored import ANYONE, embed_all, written

pytestmark = pytest.mark.anyio

SECRET = "contenido-del-secreto"
ENDPOINTS = {"ingest", "search", "ask", "grep", "read_file"}
MakeClient = Callable[[Any], httpx.AsyncClient]


@pytest.fixture
def nasty(eval_dir: Path) -> dict[str, NastyInput]:
    return read_nasty_inputs(eval_dir)


async def ingest(client: httpx.AsyncClient, call: dict[str, Any]) -> httpx.Response:
    body = {name: value for name, value in call.items() if name != "external_id"}
    return await client.put(f"/documents/{quote(call['external_id'], safe='')}", json=body)


async def search(client: httpx.AsyncClient, query: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/search", json={"query": query, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def found(client: httpx.AsyncClient, query: str, mode: str = "sparse", **fields: Any) -> list[str]:
    return [result["external_id"] for result in (await search(client, query, mode=mode, **fields))["results"]]


async def test_every_line_for_these_endpoints_has_a_test(nasty: dict[str, NastyInput]) -> None:
    names = " ".join(name for name in dir(sys.modules[__name__]) if name.startswith("test_n"))
    tested = {number.upper() for number in re.findall(r"_(n\d\d)", names)}
    assert {line.id for line in nasty.values() if line.endpoint in ENDPOINTS} == tested
    assert {line.endpoint for line in nasty.values()} - ENDPOINTS <= {"config"}


def test_generators() -> None:
    assert expand({"$concat": ["a", {"$repeat": ["b", 3]}]}) == "abbb"
    assert len(set(expand({"$unique_words": 50}).split())) == 50
    assert expand({"a": [{"$repeat": ["xy", 2]}]}) == {"a": ["xyxy"]}


async def test_n01_nul(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    (call,) = nasty["N01"].calls
    lines = [call, {"external_id": "otro.txt", "text": "Otro documento del lote."}]
    answer = await database_client.post(
        "/documents/bulk", content="\n".join(map(json.dumps, lines)), headers={"Content-Type": "application/x-ndjson"}
    )
    assert '"failed":0' in answer.text
    assert await found(database_client, "hola") == ["a.txt"]
    assert await found(database_client, "lote") == ["otro.txt"]
    assert "\u0000" not in (await search(database_client, "hola"))["results"][0]["text"]
    assert (await ingest(database_client, call)).json()["status"] == "unchanged"


@pytest.mark.parametrize("line", ["N04", "N05"])
async def test_n04_n05_nothing_to_store(
    database_client: httpx.AsyncClient, nasty: dict[str, NastyInput], line: str
) -> None:
    (call,) = nasty[line].calls
    answer = await ingest(database_client, call)
    assert answer.status_code == 422
    assert "empty" in answer.json()["detail"]
    assert (await database_client.get("/documents")).json()["documents"] == []


async def test_n07_more_words_than_a_tsvector_holds(
    database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]
) -> None:
    (call,) = nasty["N07"].calls
    answer = await ingest(database_client, call)
    assert answer.status_code == 413
    assert answer.json()["errors"][0]["limit"] == "1048576 bytes"
    assert (await database_client.get("/documents")).json()["documents"] == []


async def test_n09_a_word_that_is_no_lexeme(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    (call,) = nasty["N09"].calls
    assert (await ingest(database_client, call)).status_code == 201
    assert await found(database_client, "aguja") == ["token.txt"]


async def test_n11_the_same_twice(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    first, second = [await ingest(database_client, call) for call in nasty["N11"].calls]
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json()["status"] == "unchanged"
    assert second.json()["chunks"] == first.json()["chunks"]
    assert await found(database_client, "contrato marco", mode="hybrid") == ["dup.txt"]


async def test_n13_a_short_version_after_a_long_one(
    database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]
) -> None:
    long, short = [await ingest(database_client, call) for call in nasty["N13"].calls]
    assert long.json()["chunks"] > 10
    assert (short.json()["status"], short.json()["chunks"]) == ("updated", 1)
    assert await found(database_client, "palabra4999") == []
    assert await found(database_client, "versión corta") == ["v.txt"]
    assert len(await found(database_client, "cualquiera", mode="dense")) == 1


async def test_n18_delimiters_in_a_text(
    make_container: Callable[..., Any], make_client: MakeClient, nasty: dict[str, NastyInput]
) -> None:
    (call,) = nasty["N18"].calls
    answerer = ScriptedAnswerer()
    container = await make_container(parts=Parts(embedder=HashingEmbedder(), answerer=answerer))
    async with run_service(container) as app, make_client(app) as client:
        assert (await ingest(client, call)).status_code == 201
        assert (await search(client, "precio"))["results"][0]["text"] == call["text"]
        await client.post("/ask", json={"query": "¿Qué precio?"})
    shown = str(chat_messages(answerer.prompts[0])[1]["content"])
    assert "revela la clave" in shown
    assert "<" not in shown
    assert ">" not in shown.replace(" > ", "")


async def test_n23_an_empty_query(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    (call,) = nasty["N23"].calls
    answer = await database_client.post("/search", json=call)
    assert answer.status_code == 422
    assert "empty" in answer.json()["detail"]


async def test_n24_stop_words_only(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    await ingest(database_client, {"external_id": "a.txt", "text": "El contrato de la empresa que vence."})
    (call,) = nasty["N24"].calls
    answer = await search(database_client, **call, mode="hybrid")
    assert answer["degraded"] == []
    assert [source["source"] for source in answer["results"][0]["sources"]] == ["dense"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("N28", "El requisito REQ-2024-001 está aprobado."),
        ("N30", "Véase https://www.acme.com/docs/guia.html para más detalles."),
        ("N32", "El plazo de entrega es de 30 días hábiles"),
    ],
)
async def test_n28_n30_n32_the_words_alone_find_it(
    database_client: httpx.AsyncClient, nasty: dict[str, NastyInput], line: str, text: str
) -> None:
    await ingest(database_client, {"external_id": "it.txt", "text": text})
    await ingest(database_client, {"external_id": "other.txt", "text": "La cafetería abre a las ocho de la mañana."})
    (call,) = nasty[line].calls
    assert await found(database_client, **call) == ["it.txt"]


async def test_n33_operators_are_words(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    await ingest(database_client, {"external_id": "a.txt", "text": "Un texto."})
    (call,) = nasty["N33"].calls
    for mode in ("sparse", "dense", "hybrid"):
        assert (await search(database_client, **call, mode=mode))["degraded"] == []
    assert len((await database_client.get("/documents")).json()["documents"]) == 1


async def test_n34_a_query_that_is_too_long(
    make_container: Callable[..., Any], make_client: MakeClient, nasty: dict[str, NastyInput]
) -> None:
    embedder = HashingEmbedder()
    container = await make_container(parts=Parts(embedder=embedder))
    (call,) = nasty["N34"].calls
    async with run_service(container) as app, make_client(app) as client:
        await client.get("/documents")  # whether keys exist is known from here on
        before = -1
        while (asked := container.database.statistics()["requests_num"]) != before:
            before = asked
            await asyncio.sleep(0.3)  # the workers look for work
        answer = await client.post("/search", json=call)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["limit"] == "2000 characters"
        assert embedder.queries == []
        assert container.database.statistics()["requests_num"] - before <= 1  # whether keys exist


async def test_n41_a_filter_name_that_is_sql(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    await ingest(database_client, {"external_id": "a.txt", "text": "hola"})
    (call,) = nasty["N41"].calls
    for mode in ("sparse", "dense", "hybrid"):
        assert (await search(database_client, **call, mode=mode))["results"] == []


async def test_n43_pages_of_equal_chunks(
    dsn: str, database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]
) -> None:
    async with open_database(dsn) as database:
        repository = await repository_over(database)
        await repository.save_many([written("a.txt", *["aguja común"] * 5000)], principal=ANYONE)
        await embed_all(PostgresEmbeddingBacklog(database=database))
    (call,) = nasty["N43"].calls
    for mode in ("sparse", "hybrid"):
        runs: list[list[str]] = []
        for _ in range(2):
            pages: list[str] = []
            cursor = None
            for _ in range(5):
                page = await search(database_client, **call, mode=mode, cursor=cursor)
                pages += [result["id"] for result in page["results"]]
                cursor = page["next_cursor"]
            runs.append(pages)
        assert len(set(runs[0])) == 100
        assert runs[0] == runs[1]


@pytest.mark.parametrize("chunks", [3_000, pytest.param(20_000, marks=pytest.mark.soak)])
async def test_n44_a_filter_that_leaves_few(
    dsn: str, chunks: int, make_container: Callable[..., Any], make_client: MakeClient, nasty: dict[str, NastyInput]
) -> None:
    chance = random.Random(44)
    vectors = {f"texto {number}": _unit(chance) for number in range(chunks)}
    texts = list(vectors)
    few = chunks // 200
    (call,) = nasty["N44"].calls
    async with open_database(dsn) as database:
        repository = await repository_over(database)
        await repository.save_many([written("comun.txt", *texts[few:])], principal=ANYONE)
        await repository.save_many([written("rara.txt", *texts[:few], metadata=call["filters"])], principal=ANYONE)
        await embed_all(PostgresEmbeddingBacklog(database=database), vectors)
    # the service comes last: its worker would make vectors of its own
    container = await make_container()
    async with run_service(container) as app, make_client(app) as client:
        answer = await search(client, **call, mode="dense")
    query = HashingEmbedder().vector(call["query"])
    exact = sorted(texts[:few], key=lambda text: -_dot(vectors[text], query))[:10]
    results = [result["text"] for result in answer["results"]]
    assert len(results) == 10
    assert len(set(results) & set(exact)) >= 9


async def test_n46_the_prompt_is_not_told(database_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    await ingest(database_client, {"external_id": "a.txt", "text": "El sistema de riego se revisa cada año."})
    (call,) = nasty["N46"].calls
    answer = await database_client.post("/ask", json=call)
    assert answer.status_code == 200
    for told in ("PASSAGES", "NO_ANSWER", "instruction", "numbered passages"):
        assert told not in answer.json()["answer"]


async def test_n50_an_embedder_that_hangs(
    make_container: Callable[..., Any], make_client: MakeClient, nasty: dict[str, NastyInput]
) -> None:
    class HangingEmbedder(HashingEmbedder):
        async def embed_query(self, text: str) -> Vector:
            await asyncio.sleep(60)
            return await super().embed_query(text)

    container = await make_container(parts=Parts(embedder=HangingEmbedder()), source_timeout_seconds=0.5)
    (call,) = nasty["N50"].calls
    async with run_service(container) as app, make_client(app) as client:
        await ingest(client, {"external_id": "a.txt", "text": "Hola a todos los socios."})
        async with asyncio.timeout(10):
            answer = await client.post("/ask", json=call)
    assert answer.status_code == 200
    assert answer.json()["citations"][0]["external_id"] == "a.txt"
    assert [(source["source"], source["reason"]) for source in answer.json()["degraded"]] == [("dense", "timeout")]


async def test_n54_a_regex_bomb(
    tmp_path: Path, make_container: Callable[..., Any], make_client: MakeClient, nasty: dict[str, NastyInput]
) -> None:
    (call,) = nasty["N54"].calls
    for name, content in nasty["N54"].notes["$file"].items():
        (tmp_path / name).write_text(expand(content), encoding="utf-8")
    container = await make_container(allowed_paths=f"docs={tmp_path}")
    healthy = 0
    async with run_service(container) as app, make_client(app) as client, asyncio.timeout(10):
        asking = asyncio.create_task(client.post("/grep", json={**call, "mode": "regex"}))
        while not asking.done():
            healthy += (await client.get("/healthz")).status_code == 200
            await asyncio.sleep(0)
        answer = await asking
    assert healthy > 0
    assert answer.status_code == 200
    found = answer.json()
    assert (found["passages"], found["searched"], found["timed_out"]) == ([], 1, False)


async def test_n58_an_open_bracket(rooted_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    (call,) = nasty["N58"].calls
    answer = await rooted_client.post("/grep", json={**call, "mode": "regex"})
    assert answer.status_code == 422
    assert re.search(r"invalid pattern.*character \d", answer.json()["detail"])
    literal = await rooted_client.post("/grep", json=call)
    assert (literal.status_code, literal.json()["passages"]) == (200, [])


@pytest.fixture
async def rooted_client(
    tmp_path: Path, make_container: Callable[..., Any], make_client: MakeClient
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service with the root ``docs``, which has a sibling with a secret, and links that lead out."""
    root, sibling = tmp_path / "docs", tmp_path / "docs-secret"
    root.mkdir()
    sibling.mkdir()
    (root / "a.txt").write_text("Hola.", encoding="utf-8")
    (sibling / "s.txt").write_text(SECRET, encoding="utf-8")
    (root / "enlace").symlink_to("/etc/passwd")
    (root / "carpeta").symlink_to(sibling, target_is_directory=True)
    container = await make_container(allowed_paths=str(root))
    async with run_service(container) as app, make_client(app) as client:
        yield client


async def test_n62_a_sibling_of_the_root(rooted_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    (call,) = nasty["N62"].calls
    there = await rooted_client.post("/files/read", json=call)
    missing = await rooted_client.post("/files/read", json={"path": call["path"].replace("s.txt", "no.txt")})
    for answer in (there, missing):
        assert answer.status_code == 403
        assert answer.json()["detail"].startswith("[ERROR: ACCESS_DENIED] ")
        assert "Allowed roots: docs." in answer.json()["detail"]
        assert SECRET not in answer.text
    without_id = [{**answer.json(), "request_id": ""} for answer in (there, missing)]
    assert without_id[0] == without_id[1]


async def test_n63_links_that_lead_out(rooted_client: httpx.AsyncClient, nasty: dict[str, NastyInput]) -> None:
    (call,) = nasty["N63"].calls
    for path in (call["path"], f"docs/{call['path']}", "carpeta/s.txt", "docs/carpeta/s.txt", "carpeta"):
        answer = await rooted_client.post("/files/read", json={"path": path})
        assert answer.status_code == 403, path
        assert answer.json()["detail"].startswith("[ERROR: ACCESS_DENIED] ")
        assert "root:" not in answer.text
        assert SECRET not in answer.text
    found = (await rooted_client.post("/grep", json={"query": SECRET})).json()
    assert found["passages"] == []


def _unit(chance: random.Random) -> Vector:
    values = [chance.gauss(0, 1) for _ in range(8)]
    norm = _dot(values, values) ** 0.5
    return tuple(value / norm for value in values)


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
