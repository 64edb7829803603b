"""`ragcorp context`, and `ragcorp ask` in a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable

from support.processes.command_line import Done

Ragcorp = Callable[..., Done]


def test_an_empty_memory_prints_nothing(ragcorp: Ragcorp) -> None:
    done = ragcorp("context")
    assert (done.code, done.out) == (0, "")
    assert "Nothing is remembered." in done.err
    body = ragcorp("context", "--json").json
    assert (body["context"], body["items"]) == ("", [])
    # text alone is searched
    assert [item["source"] for item in body["degraded"]] == ["memory.dense", "history.dense"]
    assert "degraded: memory.dense (no_embedder)" in done.err


def test_a_conversation_is_remembered(filled: Ragcorp) -> None:
    first = "¿Cuál es el plazo de entrega del pedido REQ-2026-014?"
    assert "30 días hábiles" in filled("ask", first, "--conversation", "c1").out
    answer = filled("ask", "¿y con quién se celebra?", "--conversation", "c1")
    assert "asked: ¿y con quién se celebra? REQ-2026-014" in answer.out
    shown = filled("ask", "¿y cuándo se firma?", "--conversation", "c1", "--json").json
    assert shown["rewritten_query"] == "¿y cuándo se firma? REQ-2026-014"
    done = filled("context", "plazo de entrega", "--limit", "2", "--session", "c1")
    lines = done.out.strip().split("\n")
    assert re.fullmatch("MEMORY-[0-9a-f]{16}", lines[0])
    assert lines[1] == "<memory>"
    assert f'- user said: "{first}"' in lines
    assert filled("context", "plazo de entrega", "--json").json["items"] == []
    body = filled("context", "plazo de entrega", "--limit", "2", "--session", "c1", "--json").json
    assert len(body["items"]) == 2
    assert body["items"][0]["source_session"] == "c1"


def test_what_is_out_of_range_is_refused(ragcorp: Ragcorp) -> None:
    done = ragcorp("context", "--limit", "51")
    assert done.code == 2
    assert "1 to 50" in done.err
