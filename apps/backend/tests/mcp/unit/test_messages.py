"""What is no JSON-RPC message is answered with an error, by the id of its request where that can be known."""

from __future__ import annotations

import json

import pytest

from ragcorp.interface.mcp.messages import refusals

CANARY = "canario-7f3a"


@pytest.mark.parametrize(
    "message",
    [
        '{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": "uno", "method": "ping", "params": {}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
        '{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}',
        '{"jsonrpc": "2.0", "id": 2, "method": "x", "params": {"t": "\\ud83d\\ude00"}}',
    ],
)
def test_messages_pass(message: str) -> None:
    assert refusals(message) == []
    assert refusals(message.encode()) == []


CALL = '"jsonrpc": "2.0", "method": "tools/call"'
REFUSED: list[tuple[str, list[tuple[int, int | str | None]]]] = [
    (f'{{{CALL}, "id": 2, "params": {{"q": "{CANARY} \\ud83d"}}}}', [(-32700, 2)]),
    (f'{{{CALL}, "id": "dos", "params": {{"max": NaN}}}}', [(-32700, "dos")]),
    (f'{{{CALL}, "id": "\\ud83d"}}', [(-32700, None)]),
    (f'{{{CALL}, "id": "{"x" * 201}", "params": [1]}}', [(-32600, None)]),
    (f"{CANARY}", [(-32700, None)]),
    (f'{{"jsonrpc": "2.0", "id": 3, "{CANARY}', [(-32700, None)]),
    ("[" * 100_000, [(-32700, None)]),
    ("\ufeff{}", [(-32700, None)]),
    (f'{{{CALL}, "id": 5.5}}', [(-32600, None)]),
    (f'{{{CALL}, "id": null}}', [(-32600, None)]),
    (f'{{{CALL}, "id": true}}', [(-32600, None)]),
    (f'{{{CALL}, "id": {{"{CANARY}": 1}}}}', [(-32600, None)]),
    (f'{{{CALL}, "id": 4, "params": ["{CANARY}"]}}', [(-32600, 4)]),
    ('{"jsonrpc": "1.0", "id": 6, "method": "ping"}', [(-32600, 6)]),
    ('{"jsonrpc": "2.0", "id": 7, "method": 7}', [(-32600, 7)]),
    # an answer's id is not one of the client's
    ('{"jsonrpc": "2.0", "id": 8, "result": 7}', [(-32600, None)]),
    (f'[{{{CALL}, "id": 9}}, {{{CALL}}}, {{{CALL}, "id": "diez"}}, 7]', [(-32600, 9), (-32600, "diez")]),
    ("[]", [(-32600, None)]),
    (f'["{CANARY}"]', [(-32600, None)]),
    (f'"{CANARY}"', [(-32600, None)]),
    ("null", [(-32600, None)]),
]


@pytest.mark.parametrize(("message", "answers"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_is_no_message_is_answered(message: str, answers: list[tuple[int, int | str | None]]) -> None:
    for given in (message, message.encode()):
        errors = refusals(given)
        assert [(error.error.code, error.id) for error in errors] == answers
        for error in errors:
            sent = error.model_dump_json(by_alias=True, exclude_unset=True)
            assert "id" in json.loads(sent)
            assert CANARY not in sent
