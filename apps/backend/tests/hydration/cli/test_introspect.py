"""`ragcorp introspect`, and --episode of search and ask."""

from __future__ import annotations

from collections.abc import Callable

from support.processes.command_line import Done

Command = Callable[..., Done]


def test_an_episode_from_its_first_turn_to_its_introspection(filled: Command) -> None:
    result = filled("search", "¿Qué dice marco.md de la entrega?", "--episode", "e1", "--json")
    assert result.code == 0
    hydration = result.json["hydration"]
    assert (hydration["episode_id"], hydration["turn"]) == ("e1", 1)
    assert "contratos/marco.md#Entrega" in [entity["entity_key"] for entity in hydration["entities"]]
    shown = filled("search", "¿y el plazo?", "--episode", "e1").out
    assert "episode e1, turn 2: " in shown
    assert "contratos/marco.md#Entrega" in shown
    assert "anchor:hydrated_previous_turn" in shown

    told = filled("introspect", "e1", "--turn", "1", "--json")
    assert told.code == 0
    assert (told.json["turn"], told.json["turns"], told.json["query"]) == (1, 2, "¿Qué dice marco.md de la entrega?")
    assert "anchor:explicit_file_mention" in {entity["reason"] for entity in told.json["entities"]}
    told = filled("introspect", "e1")
    assert "episode e1, turn 2 of 2: " in told.out
    assert "query: ¿y el plazo?" in told.out
    assert "El plazo de entrega" in told.out


def test_an_answer_of_an_episode(filled: Command) -> None:
    answered = filled("ask", "¿Cuál es el plazo de entrega de marco.md?", "--episode", "e2")
    assert "30 días" in answered.out
    assert "episode e2, turn 1: " in answered.out


def test_an_episode_that_is_not_there(filled: Command) -> None:
    gone = filled("introspect", "no such", "--json")
    assert (gone.code, gone.json["error"]["code"], gone.json["error"]["field"]) == (1, "not_found", "episode_id")
    wrong = filled("introspect", "e", "--turn", "0", "--json")
    assert (wrong.code, wrong.json["error"]["field"]) == (2, "turn")
