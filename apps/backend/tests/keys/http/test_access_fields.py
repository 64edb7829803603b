"""What a key reaches by the fields of a request: files without `tools`, passages without `search`.

The whole service over real files and a real database: an operation that a key may call must not do, by a field of its
body, what an operation that it may not call does.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.application.retrieval.profiles.profile import RetrievalProfile
from ragcorp.application.retrieval.profiles.standard import standard_profiles
from ragcorp.domain.files.values import FILES, passage_id
from ragcorp.domain.keys import Caller, Scope
from ragcorp.domain.principal import Principal
from ragcorp.domain.retrieval import Hit
from ragcorp.domain.search.sources import GREP
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.service.app import run_service
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.http.callers import bearer
from support.http.events import events_of
from support.http.serving import serving
from support.models.embedders import HashingEmbedder
from support.parsing.partly_read import archive_with_a_program
from support.retrieval.sources import ScriptedSource

pytestmark = pytest.mark.anyio

CANARY = "quetzal"
"""Stands in the file alone."""

FILE = f"El tipo de IVA de {CANARY} es el 21 %.\n"
GUIDE = "# Alta\n\nEl alta la firma RRHH en 5 días hábiles.\n\n# Baja\n\nLa baja la tramita Zenobia en secreto.\n"
QUESTION = f"¿Cuál es el tipo de IVA de {CANARY}?"
UNSEEN = "Zenobia"
"""Stands in a passage that no answer to ``ALTA`` cites."""
ALTA = "¿En cuántos días hábiles se firma el alta según guia.md?"

MIXED, ALONE = "con_ficheros", "solo_ficheros"


@dataclass(frozen=True)
class Place:
    client: httpx.AsyncClient
    container: Container

    async def key(self, *scopes: Scope) -> dict[str, str]:
        """Return the headers of a new key."""
        store = PostgresKeyStore(database=self.container.database)
        create = CreateKey(
            store=store, digests=make_digests(self.container.settings, store), random=os.urandom, now=utc_now
        )
        request = KeyRequest(scopes=frozenset(scopes), workspace="default", subject="app")
        return bearer((await create.create(request)).credential)


@pytest.fixture
async def place(make_container: Callable[..., Any], tmp_path: Path) -> AsyncIterator[Place]:
    root = tmp_path / "empresa"
    root.mkdir()
    (root / "iva.txt").write_text(FILE, encoding="utf-8")
    own = ScriptedSource(Hit(item_id=passage_id("empresa/iva.txt", 1, 1), collection=FILES, score=9.0), name="own")
    hybrid, grep = (standard_profiles()[name] for name in ("hybrid", "grep"))
    profiles: dict[str, RetrievalProfile] = {
        MIXED: replace(hybrid, name=MIXED, sources=(*hybrid.sources, GREP)),
        ALONE: replace(grep, name=ALONE),
    }
    container = await make_container(
        parts=Parts(embedder=HashingEmbedder(), profiles=profiles, sources={"own": own}),
        allowed_paths=str(root),
        enable_hybrid_search=True,
        key_cache_seconds=0,
    )
    async with (
        run_service(container) as app,
        serving(app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        body = {"text": GUIDE, "metadata": {"path": "guia.md"}, "language": "es"}
        assert (await client.put("/documents/guia.md", json=body)).status_code == 201
        yield Place(client, container)


async def test_fields_open_no_file_to_a_key_without_tools(place: Place) -> None:
    named = ({"exact_keywords": CANARY}, {"profile": "files"}, {"profile": "grep"}, {"profile": ALONE})
    asked: list[dict[str, Any]] = [*named, {"profile": MIXED, "exact_keywords": CANARY}]
    asked.append({"profile": MIXED, "require_all": True})
    ways = {"/search": Scope.SEARCH, "/ask": Scope.ASK}
    with_tools = await place.key(Scope.SEARCH, Scope.ASK, Scope.TOOLS)
    for path, scope in ways.items():
        headers = await place.key(scope)
        for fields in asked:
            for stream in (False, True):
                body = {"query": QUESTION, "stream": stream, **fields}
                refused = await place.client.post(path, json=body, headers=headers)
                assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), (path, body)
                assert "the scope tools" in refused.text
                assert "21 %" not in refused.text
        for fields in named:
            result = await place.client.post(path, json={"query": QUESTION, **fields}, headers=with_tools)
            assert "21 %" in result.text, (path, fields)


async def test_a_profile_that_asks_files_too_leaves_them_out(place: Place) -> None:
    """So it does with what a source of the user's own names of files."""
    searcher, with_tools = await place.key(Scope.SEARCH, Scope.ASK), await place.key(Scope.SEARCH, Scope.TOOLS)
    for body in ({"profile": MIXED}, {"mode": "hybrid"}, {"profile": MIXED, "episode_id": "e"}):
        asked = {"query": f"{QUESTION} alta", "explain": True, **body}
        result = await place.client.post("/search", json=asked, headers=searcher)
        assert result.status_code == 200
        assert result.json()["results"]
        told = {(item["source"], item["reason"]) for item in result.json()["degraded"]}
        assert told == ({(GREP, "scope:tools")} if "profile" in body else set())
        answer = await place.client.post("/ask", json=asked, headers=searcher)
        assert answer.status_code == 200
        context = await place.client.get("/context", params={"query": QUESTION}, headers=searcher)
        for item in (result, answer, context):
            assert "21 %" not in item.text
            assert "iva.txt" not in item.text
        whole = await place.client.post("/search", json=asked, headers=with_tools)
        assert "21 %" in whole.text
        assert whole.json()["degraded"] == []


async def test_asking_alone_shows_what_an_answer_cites_and_no_more(place: Place) -> None:
    asker, reader = await place.key(Scope.ASK), await place.key(Scope.ASK, Scope.SEARCH)
    body = {"query": ALTA, "episode_id": "e", "limit": 10, "explain": True}
    shown = await place.client.post("/ask", json=body, headers=reader)
    assert shown.status_code == 200, shown.text
    assert UNSEEN in json.dumps(shown.json()["hydration"], ensure_ascii=False)
    answer = await place.client.post("/ask", json=body, headers=asker)
    assert answer.status_code == 200
    assert [citation["external_id"] for citation in answer.json()["citations"]] == ["guia.md"]
    assert answer.json()["hydration"] is None
    assert UNSEEN not in answer.text

    told = await place.client.post("/ask", json=body | {"stream": True}, headers=reader)
    assert UNSEEN in told.text
    streamed = await place.client.post("/ask", json=body | {"stream": True}, headers=asker)
    names = [name for name, _ in events_of(streamed.text)]
    assert (names[0], names[-1]) == ("status", "final_answer")
    assert "search_results" not in names
    assert UNSEEN not in streamed.text
    abstained = await place.client.post("/ask", json=body | {"query": "zzyzx guia.md", "stream": True}, headers=asker)
    assert UNSEEN not in abstained.text


def test_a_caller_without_tools_reads_no_files_whoever_made_it() -> None:
    for scopes in (frozenset[Scope](), frozenset(Scope) - {Scope.TOOLS}):
        assert not Caller(principal=Principal(), scopes=scopes).principal.may_read_files
    kept = Caller(principal=Principal(may_read_files=False), scopes=frozenset(Scope))
    assert not kept.principal.may_read_files
    assert Caller(principal=Principal(), scopes=frozenset({Scope.TOOLS})).principal.may_read_files


async def test_an_abstention_names_no_document_to_a_key_that_only_asks(place: Place) -> None:
    file = {"file": ("anexo.zip", archive_with_a_program())}
    assert (await place.client.put("/documents/anexo.zip", files=file)).status_code == 201
    asker, reader = await place.key(Scope.ASK), await place.key(Scope.ASK, Scope.SEARCH)
    body = {"query": "¿Cuál es la capital del contrato de Mongolia?"}
    for headers, named in ((reader, ["anexo.zip"]), (asker, [])):
        answer = (await place.client.post("/ask", json=body, headers=headers)).json()
        assert answer["abstained"]
        assert [document["external_id"] for document in answer["incomplete"]] == named
