"""The tools over fakes: what is listed, what each asks of its use case, what it returns, and what is refused."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from ragcorp.application.memory.load_context import DEFAULT_QUERY
from ragcorp.domain.exceptions import FileAccessDeniedError, InvalidInputError, StorageUnavailableError
from ragcorp.domain.files.values import GrepCase, GrepMode, GrepRequest
from ragcorp.domain.filters import Condition, Operator
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.domain.search.requests import SearchRequest
from support.mcp.fakes import Behaviour, Log, fake_services, server_over, text_of

pytestmark = pytest.mark.anyio

CANARY = "canario-7f3a"
NAMES = ["hybrid_search", "vector_search", "memory_search", "grep_search", "read_file", "ask", "context"]

with_each_protocol = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


@pytest.fixture
def client(behaviour: Behaviour) -> Client:
    return Client(server_over(fake_services(behaviour)))


async def test_the_tools_are_listed_as_what_they_are(client: Client) -> None:
    async with client:
        tools = (await client.list_tools()).tools
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("ragcorp", "1.2.3")
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.idempotent_hint is True
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert all(field.get("description") for field in tool.input_schema["properties"].values())


async def test_the_schemas_have_the_names_and_bounds_of_the_documents(client: Client) -> None:
    async with client:
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == {
        "hybrid_search": [
            "semantic_query", "query", "exact_keywords", "limit", "include_memory", "expand_neighbors", "filters",
        ],
        "vector_search": ["query", "limit", "filters", "vector_score_threshold"],
        "memory_search": ["query", "limit", "filters"],
        "grep_search": ["query", "mode", "globs", "case", "max"],
        "read_file": ["path", "line_start", "line_end"],
        "ask": ["query", "limit", "filters", "include_memory", "profile"],
        "context": ["query", "limit", "session"],
    }  # fmt: skip
    limit = schemas["hybrid_search"]["properties"]["limit"]
    assert (limit["default"], limit["minimum"], limit["maximum"]) == (10, 1, 50)
    most = schemas["grep_search"]["properties"]["max"]
    assert (most["default"], most["minimum"], most["maximum"]) == (50, 1, 200)


@with_each_protocol
async def test_a_hybrid_search(behaviour: Behaviour, mode: str) -> None:
    async with Client(server_over(fake_services(behaviour)), mode=mode) as client:
        result = await client.call_tool(
            "hybrid_search",
            {
                "semantic_query": "¿Cuál es el plazo?",
                "exact_keywords": "REQ-2026-014",
                "limit": 7,
                "include_memory": True,
                "expand_neighbors": True,
                "filters": {"year": {"$gte": 2025}},
            },
        )
    assert behaviour.asked == [
        (
            SearchRequest(
                query="¿Cuál es el plazo?",
                exact_keywords="REQ-2026-014",
                limit=7,
                profile="files",
                include_memory=True,
                expand_neighbors=1,
                filters=(Condition(name="year", operator=Operator.GTE, values=(2025,)),),
            ),
            Principal(),
        )
    ]
    assert not result.is_error
    assert text_of(result) == (
        "Found 1 results (searched: artifact_chunks, files):\n\n"
        "[1] RRF score: 0.016 (from: artifact_chunks)\nType: chunk | ID: 4711\nTitle: Marco\n"
        'Source: document | Sensitivity: normal\nSnippet: "El plazo es de 30 días."\nEvidence: docs/marco.md:3-4\n'
    )
    document = result.structured_content
    assert document["searched"] == ["artifact_chunks", "files"]
    (matches,) = document["results"]
    assert matches["text"] == "El plazo es de 30 días."
    assert (matches["citation"]["path"], matches["citation"]["line_start"]) == ("docs/marco.md", 3)


async def test_query_is_another_name_of_semantic_query(client: Client, behaviour: Behaviour) -> None:
    async with client:
        await client.call_tool("hybrid_search", {"query": "plazo"})
        await client.call_tool("hybrid_search", {"query": "plazo", "semantic_query": "plazo", "exact_keywords": None})
        await client.call_tool("hybrid_search", {"query": "", "semantic_query": "plazo"})
        both = await client.call_tool("hybrid_search", {"query": CANARY, "semantic_query": "plazo"})
        neither = await client.call_tool("hybrid_search", {"exact_keywords": "x"})
    plain = SearchRequest(query="plazo", profile="files")
    assert [request for request, _ in behaviour.asked] == [plain, plain, plain]
    assert both.is_error
    assert text_of(both).startswith("semantic_query and query differ.")
    assert CANARY not in text_of(both)
    assert neither.is_error
    assert text_of(neither).startswith("semantic_query is missing.")


async def test_what_the_other_tools_ask(client: Client, behaviour: Behaviour) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("vector_search", {"query": "a", "vector_score_threshold": 1}),
        ("memory_search", {"query": "b", "limit": 3}),
        ("grep_search", {"query": "c+", "mode": "regex", "globs": ["*.py"], "case": "sensitive", "max": 5}),
        ("grep_search", {"query": "d"}),
        ("read_file", {"path": "docs/marco.md", "line_start": 1, "line_end": 2}),
        ("ask", {"query": "e", "profile": "files", "filters": None}),
        ("context", {}),
    ]
    async with client:
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, text_of(result)
            assert result.structured_content
    asked = [request for request, _ in behaviour.asked]
    assert asked[:6] == [
        SearchRequest(query="a", profile="vectors", vector_score_threshold=1.0),
        SearchRequest(query="b", profile="memory", limit=3),
        GrepRequest(query="c+", mode=GrepMode.REGEX, globs=("*.py",), case=GrepCase.SENSITIVE, max_passages=5),
        GrepRequest(query="d"),
        ("docs/marco.md", 1, 2),
        SearchRequest(query="e", profile="files"),
    ]
    assert asked[6] == SearchRequest(query=DEFAULT_QUERY, profile="memory", limit=5)


async def test_texts_of_the_other_tools(client: Client) -> None:
    async with client:
        grep = await client.call_tool("grep_search", {"query": "plazo"})
        read = await client.call_tool("read_file", {"path": "docs/marco.md"})
        answer = await client.call_tool("ask", {"query": "¿plazo?"})
        context = await client.call_tool("context", {"query": "plazo"})
    assert text_of(grep) == (
        "Found 1 passages in 1 files:\n\n[1] docs/marco.md:1-2 (terms: plazo)\n  1: # Marco\n> 2: plazo\n"
    )
    assert grep.structured_content["passages"][0]["matched_lines"] == [2]
    assert "marks" not in grep.structured_content["passages"][0]
    assert text_of(read) == read.structured_content["text"] == "# Marco\nplazo"
    assert text_of(answer) == "Son 30 días [1].\n\nSources:\n[1] docs/marco.md:3-4"
    assert answer.structured_content["citations"][0]["path"] == "docs/marco.md"
    assert "El plazo es de 30 días." in text_of(context)
    assert text_of(context) == context.structured_content["context"]
    assert "request_id" not in context.structured_content


async def test_the_caller_of_the_request_is_who_asks(behaviour: Behaviour) -> None:
    reader = Principal(workspace="ventas", subject="ana", clearance=Sensitivity.PUBLIC)
    async with Client(server_over(fake_services(behaviour), principal=reader)) as client:
        for name, arguments in (
            ("vector_search", {"query": "a"}),
            ("grep_search", {"query": "a"}),
            ("read_file", {"path": "a"}),
            ("ask", {"query": "a"}),
            ("context", {}),
        ):
            await client.call_tool(name, arguments)
    assert [principal for _, principal in behaviour.asked] == [reader] * 5


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("hybrid_search", {"query": "x", "limit": 51}, "limit should be less than or equal to 50"),
    ("hybrid_search", {"query": "x", "limit": 0}, "limit should be greater than or equal to 1"),
    ("hybrid_search", {"query": "x", "limit": 10**30}, "limit should be less than or equal to 50"),
    ("hybrid_search", {"query": "x", "limit": "5"}, "limit should be a valid integer"),
    ("hybrid_search", {"query": "x", "limit": True}, "limit should be a valid integer"),
    ("hybrid_search", {"query": "x", "include_memory": "yes"}, "include_memory should be a valid boolean"),
    ("hybrid_search", {"query": "x", "filters": [CANARY]}, "filters should be a valid object"),
    ("hybrid_search", {"query": [CANARY]}, "query should be a valid string"),
    ("hybrid_search", {"query": "x", CANARY: 1}, "unknown one (hybrid_search takes semantic_query, query"),
    ("hybrid_search", {"query": "x", "filters": {"$evil": CANARY}}, "no operator of filters"),
    ("hybrid_search", {"query": "x", "filters": {"a": {"$gt": [CANARY]}}}, "filter"),
    ("hybrid_search", {"query": "x", "filters": {"a": None}}, "null is found by $exists"),
    ("hybrid_search", {"query": "x", "filters": {"a": {"$gt": float("nan")}}}, "filter"),
    ("hybrid_search", {"query": "x", "filters": {"a": 10**400}}, "filter"),
    ("hybrid_search", {"query": "x", "filters": {"a": "\x00" + CANARY}}, "filter"),
    ("vector_search", {}, "query is missing"),
    ("vector_search", {"query": None}, "query should be a valid string"),
    ("vector_search", {"query": "x", "vector_score_threshold": 0}, "vector_score_threshold should be greater than 0"),
    ("vector_search", {"query": "x", "vector_score_threshold": 3}, "vector_score_threshold should be less than"),
    ("grep_search", {"query": ""}, "query: String should have at least 1 character"),
    ("grep_search", {"query": "a\n" + CANARY}, "query holds a line break"),
    ("grep_search", {"query": "a\x00" + CANARY}, "cannot be stored"),
    ("grep_search", {"query": " \u200b "}, "query is empty"),
    ("grep_search", {"query": "a" * 1001}, "query: String should have at most 1000 characters"),
    ("grep_search", {"query": "x", "mode": CANARY}, "mode should be 'literal' or 'regex'"),
    ("grep_search", {"query": "x", "globs": ["*"] * 21}, "globs: List should have at most 20 items"),
    ("grep_search", {"query": "x", "globs": [1]}, "globs should be a valid string"),
    ("grep_search", {"query": "x", "max": 201}, "max should be less than or equal to 200"),
    ("grep_search", {"query": "x", "max_passages": 5}, "unknown one"),
    ("read_file", {"path": ""}, "path: String should have at least 1 character"),
    ("read_file", {"path": "a" * 1001}, "path: String should have at most 1000 characters"),
    ("read_file", {"path": "a", "line_start": 0}, "line_start should be greater than or equal to 1"),
    ("read_file", {"path": "a", "line_start": 1.5}, "line_start should be a valid integer"),
    ("read_file", {"path": "a", "root": "/"}, "unknown one (read_file takes path, line_start, line_end)"),
    ("ask", {"query": "x", "conversation_id": CANARY}, "unknown one"),
    ("context", {"limit": 51}, "limit should be less than or equal to 50"),
    ("context", {"session": "a" * 401}, "session: String should have at most 400 characters"),
]  # fmt: skip


@with_each_protocol
async def test_bad_arguments_are_refused_by_name_and_never_repeated(behaviour: Behaviour, mode: str) -> None:
    async with Client(server_over(fake_services(behaviour)), mode=mode) as client:
        for name, arguments, said in REFUSED:
            result = await client.call_tool(name, arguments)
            text = text_of(result)
            assert result.is_error, (name, list(arguments))
            assert said in text, (name, text)
            assert CANARY not in text
            assert "pydantic" not in text.lower()
    assert behaviour.asked == []


async def test_a_deep_filter_is_refused(client: Client) -> None:
    filters: dict[str, Any] = {"a": 1}
    for _ in range(60):
        filters = {"$not": filters}
    async with client:
        result = await client.call_tool("vector_search", {"query": "x", "filters": filters})
    assert result.is_error
    assert "deep" in text_of(result)


async def test_an_unknown_tool_is_an_error_of_the_protocol(client: Client) -> None:
    async with client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(CANARY, {})
    assert caught.value.code == -32602
    assert CANARY not in str(caught.value)
    assert "tools/list" in str(caught.value)


async def test_an_error_of_ours_says_field_limit_and_remedy(client: Client, behaviour: Behaviour) -> None:
    behaviour.error = InvalidInputError(
        "limit is out of range.", field="limit", limit="1 to 20", remedy="Ask for less."
    )
    async with client:
        result = await client.call_tool("ask", {"query": "x"})
    assert result.is_error
    assert result.structured_content is None
    assert text_of(result) == "limit is out of range. Ask for less. (field: limit, limit: 1 to 20)"


async def test_the_error_of_a_file_starts_with_its_kind(client: Client, behaviour: Behaviour) -> None:
    behaviour.error = FileAccessDeniedError("The path leads out of the roots.", remedy="Allowed roots: docs, code.")
    async with client:
        for name, arguments in (("read_file", {"path": "../x"}), ("grep_search", {"query": "x"})):
            result = await client.call_tool(name, arguments)
            assert result.is_error
            assert text_of(result) == (
                "[ERROR: ACCESS_DENIED] The path leads out of the roots. Allowed roots: docs, code."
            )


async def test_an_outage_is_said_and_logged_without_details(
    client: Client, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    behaviour.error = StorageUnavailableError(
        "The database cannot be reached.", reason="unreachable", remedy="Try again."
    )
    async with client:
        result = await client.call_tool("grep_search", {"query": CANARY})
    assert text_of(result) == "The database cannot be reached. Try again."
    assert "grep_search: storage_unavailable: unreachable" in caplog.text
    assert CANARY not in caplog.text


async def test_an_unexpected_error_is_logged_and_not_shown(
    client: Client, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    behaviour.error = ZeroDivisionError(f"SELECT {CANARY}")
    async with client:
        result = await client.call_tool("vector_search", {"query": "x"})
    assert result.is_error
    assert text_of(result) == "Something went wrong here. The log of ragcorp has it."
    assert any(record.levelno == logging.ERROR and record.exc_info for record in caplog.records)


async def test_a_tool_ends_at_its_deadline_and_the_server_goes_on(behaviour: Behaviour) -> None:
    behaviour.gate = anyio.Event()  # type: ignore[assignment]
    async with Client(server_over(fake_services(behaviour), seconds=0.05)) as client:
        result = await client.call_tool("ask", {"query": "x"})
        assert result.is_error
        assert text_of(result).startswith("The tool took too long.")
        with anyio.fail_after(10):
            await behaviour.cancelled.wait()
        behaviour.gate = None
        assert not (await client.call_tool("ask", {"query": "x"})).is_error


@with_each_protocol
async def test_a_client_that_gives_up_cancels_the_use_case(behaviour: Behaviour, mode: str) -> None:
    behaviour.gate = anyio.Event()  # type: ignore[assignment]
    async with Client(server_over(fake_services(behaviour)), mode=mode) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "grep_search", {"query": "x"})
            await behaviour.entered.wait()
            calls.cancel_scope.cancel()
        with anyio.fail_after(10):
            await behaviour.cancelled.wait()
        behaviour.gate = None
        assert not (await client.call_tool("grep_search", {"query": "x"})).is_error


SAID = {
    "hybrid_search": ("hybrid_search: 1 chunk, 23 characters", 23),
    "vector_search": ("vector_search: 1 chunk, 23 characters", 23),
    "memory_search": ("memory_search: 1 chunk, 23 characters", 23),
    "grep_search": ("grep_search: 1 passage in 1 file, 13 characters", 13),
}


@with_each_protocol
async def test_every_search_tool_says_how_much_it_found(behaviour: Behaviour, mode: str) -> None:
    log = Log()
    async with Client(
        server_over(fake_services(behaviour)), mode=mode, logging_callback=log, log_level="info"
    ) as client:
        for name in SAID:
            await client.call_tool(name, {"query": "plazo"})
        await client.call_tool("read_file", {"path": "a"})
    assert [(said["tool"], said["message"], said["characters"]) for said in log.said] == [
        (name, message, characters) for name, (message, characters) in SAID.items()
    ]
    assert {(message.level, message.logger) for message in log.messages} == {("info", "ragcorp")}
    assert all(said["passages"] == said["files"] == 1 for said in log.said)


async def test_nobody_is_told_who_did_not_ask_to_be() -> None:
    log = Log()
    async with Client(server_over(fake_services(Behaviour())), mode="auto", logging_callback=log) as client:
        await client.call_tool("vector_search", {"query": "plazo"})
    assert log.messages == []


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
@pytest.mark.parametrize(("level", "messages"), [("debug", 1), ("info", 1), ("warning", 0), ("error", 0)])
async def test_a_level_holds_for_its_session_alone(level: Any, messages: int) -> None:
    server = server_over(fake_services(Behaviour()))
    first, second = Log(), Log()
    async with (
        Client(server, mode="legacy", logging_callback=first) as one,
        Client(server, mode="legacy", logging_callback=second) as other,
    ):
        assert one.server_capabilities is not None
        assert one.server_capabilities.logging is not None
        await one.set_logging_level(level)
        await one.call_tool("vector_search", {"query": "plazo"})
        await other.call_tool("vector_search", {"query": "plazo"})
    assert (len(first.messages), len(second.messages)) == (messages, 1)


async def test_results_are_json(client: Client) -> None:
    async with client:
        for name in ("hybrid_search", "ask", "context"):
            result = await client.call_tool(name, {"query": "plazo"})
            assert json.loads(json.dumps(result.structured_content)) == result.structured_content
