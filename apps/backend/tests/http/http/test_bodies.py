"""What every JSON route refuses in a body, and when."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.interface.http.documents.schema import DocumentBody
from ragcorp.interface.http.protocol import validation
from ragcorp.interface.http.protocol.json_body import MAX_JSON_VALUES, check_json
from ragcorp.interface.http.protocol.problems import FieldError
from support.fixtures.http import MakeApp, Serve, with_each_parser
from support.http.fakes import World
from support.http.serving import raw_exchange

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}
ROUTES = [("POST", "/search"), ("POST", "/ask"), ("PUT", "/documents/a")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed_json"),
        (b"{", "malformed_json"),
        (b"nothing", "malformed_json"),
        (b'{"query": "a",}', "malformed_json"),
        (b"{'query': 'a'}", "malformed_json"),
        (b'{"query": "a"} {}', "malformed_json"),
        (b'{"query": "\xff"}', "malformed_json"),
        (b'\xef\xbb\xbf{"query": "a"}', "malformed_json"),
        ('{"query": "a"}'.encode("utf-16"), "malformed_json"),
        (b'{"query": "\\ud800"}', "malformed_json"),
        (b'{"query": "\\udc00\\ud800"}', "malformed_json"),
        (b'{"\\ud800": "a"}', "malformed_json"),
        (b'{"query": "a\x00"}', "malformed_json"),
        (b'{"query": NaN}', "malformed_json"),
        (b'{"query": Infinity}', "malformed_json"),
        (b'{"query": -Infinity}', "malformed_json"),
        (b'{"query": "a", "limit": ' + b"9" * 5000 + b"}", "malformed_json"),
        (b'{"query": "a", "query": "b"}', "invalid_input"),
        (b'{"query": "a", "fusion": {"rank_constant": 1, "rank_constant": 2}}', "invalid_input"),
        (b"[" * 100_000, "invalid_input"),
        (b'{"a":' * 33 + b"1" + b"}" * 33, "invalid_input"),
        (b"[]", "invalid_input"),
        (b'"a"', "invalid_input"),
        (b"null", "invalid_input"),
    ],
)
async def test_what_is_not_strict_json_is_refused(
    client: httpx.AsyncClient, method: str, path: str, body: bytes, code: str
) -> None:
    answer = await client.request(method, path, content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == code
    assert answer.json()["errors"][0]["field"] == "body"


@pytest.mark.parametrize(("method", "path"), ROUTES[:2])
@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/xml", "multipart/form-data; boundary=x", "json"]
)
async def test_another_content_type_is_415(
    client: httpx.AsyncClient, method: str, path: str, content_type: str
) -> None:
    answer = await client.request(method, path, content=b'{"query":"a"}', headers={"Content-Type": content_type})
    assert answer.status_code == 415
    assert answer.json()["errors"][0]["field"] == "Content-Type"


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
async def test_parameters_and_case_of_the_type_do_not_matter(client: httpx.AsyncClient, content_type: str) -> None:
    answer = await client.post("/search", content=b'{"query":"a"}', headers={"Content-Type": content_type})
    assert answer.status_code == 200


@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("POST", "/documents/bulk"), ("PUT", "/documents/a.pdf")])
@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate", "identity, gzip", "x"])
async def test_compressed_bodies_are_415(client: httpx.AsyncClient, method: str, path: str, encoding: str) -> None:
    types = {"/documents/bulk": "application/x-ndjson", "/documents/a.pdf": "application/pdf"}
    headers = {"Content-Type": types.get(path, "application/json"), "Content-Encoding": encoding}
    answer = await client.request(method, path, content=b"x", headers=headers)
    assert answer.status_code == 415
    assert answer.json()["errors"][0]["field"] == "Content-Encoding"


async def test_identity_is_no_encoding(client: httpx.AsyncClient) -> None:
    answer = await client.post("/search", json={"query": "a"}, headers={"Content-Encoding": "identity"})
    assert answer.status_code == 200


@with_each_parser
@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_the_limit_is_cut(
    make_app: MakeApp, serve: Serve, world: World, method: str, path: str, chunked: bool
) -> None:
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'{"query": "'
        for _ in range(10 * 16):
            sent += 65_536
            yield b"a" * 65_536
        yield b'"}'

    content: Any = pieces() if chunked else b'{"query": "' + b"a" * 10 * 1024 * 1024 + b'"}'
    async with serve(make_app()) as url, httpx.AsyncClient(base_url=url, timeout=20) as client:
        answer = await client.request(method, path, content=content, headers=JSON)
        assert answer.status_code == 413
        problem = answer.json()
        assert problem["code"] == "payload_too_large"
        assert problem["errors"] == [
            {
                "field": "body",
                "message": "The body is too large.",
                "limit": "1048576 bytes",
                "remedy": "Send less at once, or raise MAX_BODY_BYTES.",
            }
        ]
        assert answer.headers["connection"] == "close"
        assert (await client.get("/healthz")).status_code == 200
    assert world.repository.calls == []


async def test_an_announced_body_is_refused_before_it_comes(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app()) as url:
        answer = await raw_exchange(
            url,
            b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n"
            b"Expect: 100-continue\r\n\r\n",
        )
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer


MANY = ",".join(["0"] * (MAX_JSON_VALUES + 1))


@pytest.mark.parametrize(
    "body",
    [
        f'{{"text": "a", "metadata": {{"a": [{MANY}]}}}}',
        "{" + ",".join(f'"k{number}": 1' for number in range(MAX_JSON_VALUES + 1)) + "}",
        "[" + ",".join(["[]"] * MAX_JSON_VALUES) + "]",
    ],
    ids=["elements", "members", "arrays"],
)
async def test_a_body_of_too_many_values_is_refused_unread(
    client: httpx.AsyncClient, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as parsers:
        parsers.setattr("ragcorp.interface.http.protocol.json_body.json.loads", never)
        parsers.setattr(DocumentBody, "model_validate_json", never)
        answer = await client.put("/documents/a", content=body, headers=JSON)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == "body"
    assert str(MAX_JSON_VALUES) in error["limit"]


def never(*_: object, **__: object) -> None:
    raise AssertionError("it was parsed")


@pytest.mark.parametrize("text", [MANY, '[{"' * MAX_JSON_VALUES, '\\",' * MAX_JSON_VALUES])
def test_values_are_counted_outside_strings(text: str) -> None:
    body = json.dumps({"text": text})
    assert check_json(body.encode(), max_depth=4) == {"text": text}


async def test_thousands_of_unknown_fields_are_told_once(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[FieldError] = []

    def counted(**given: Any) -> FieldError:
        made.append(FieldError(**given))
        return made[-1]

    monkeypatch.setattr(validation, "FieldError", counted)
    body = {"text": "a", **{f"k{number}": 1 for number in range(5000)}}
    answer = await client.put("/documents/a", json=body)
    assert answer.status_code == 422
    assert [error["message"] for error in answer.json()["errors"]] == ["Unknown field."]
    assert len(made) == 1


@with_each_parser
async def test_a_body_that_never_ends_does_not_hold_the_connection(make_app: MakeApp, serve: Serve) -> None:
    piece = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
    async with serve(make_app()) as url:
        head = (
            b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        answer = await raw_exchange(url, head, *[piece] * 40)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(b"}")


@with_each_parser
async def test_a_small_body_that_nobody_reads_does_not_cost_the_connection(make_app: MakeApp, serve: Serve) -> None:
    request = b"POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n" + b"a" * 4000
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    async with serve(make_app()) as url:
        answer = await raw_exchange(url, request, request, last, pause=0.1)
    assert answer.count(b"HTTP/1.1 404 ") == 2
    assert answer.count(b"HTTP/1.1 200 ") == 1


async def test_a_body_that_stops_is_given_up(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app(request_timeout_seconds=10, upload_timeout_seconds=0.3)) as url:
        for path, kind in (
            (b"POST /search", b"application/json"),
            (b"PUT /documents/a", b"application/json"),
            (b"PUT /documents/a", b"text/plain"),
            (b"PUT /documents/a", b"multipart/form-data; boundary=x"),
        ):
            answer = await raw_exchange(
                url, path + b" HTTP/1.1\r\nHost: x\r\nContent-Type: " + kind + b"\r\nContent-Length: 50\r\n\r\n-"
            )
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"content-type: application/problem+json" in answer
            assert answer.lower().count(b"connection: close") == 1
            assert b"request_timeout" in answer


async def test_a_json_upload_may_take_longer_than_a_request(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app(request_timeout_seconds=0.4, upload_timeout_seconds=10)) as url:
        answer = await raw_exchange(
            url,
            b"PUT /documents/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
            b"Content-Length: 16\r\n\r\n",
            b'{"text"',
            b': "Ho',
            b'la"}',
            pause=0.3,
        )
    assert answer.startswith(b"HTTP/1.1 201 ")


async def test_an_upload_may_take_longer_than_a_request(make_app: MakeApp, serve: Serve) -> None:
    async with serve(make_app(request_timeout_seconds=0.4, upload_timeout_seconds=10)) as url:
        answer = await raw_exchange(
            url,
            b"PUT /documents/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: text/plain\r\n"
            b"Content-Length: 9\r\n\r\n",
            b"Hol",
            b"a mun",
            b"d",
            pause=0.3,
        )
    assert answer.startswith(b"HTTP/1.1 201 ")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=30,
)


def depth(value: Any) -> int:
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 0


@given(JSON_VALUES, st.integers(0, 6), st.booleans())
def test_depth_is_counted_outside_strings(value: Any, limit: int, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", errors="surrogatepass")
    if depth(value) > limit:
        with pytest.raises(InvalidInputError, match="nested too deeply"):
            check_json(body, max_depth=limit)
    else:
        assert check_json(body, max_depth=limit) == value


@pytest.mark.parametrize("request_", [b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01 tls?\r\n\r\n"])
async def test_what_is_no_http_is_a_problem(make_app: MakeApp, serve: Serve, request_: bytes) -> None:
    async with serve(make_app()) as url:
        answer = await raw_exchange(url, request_)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    problem = json.loads(body)
    assert (problem["code"], problem["errors"][0]["limit"]) == (
        "malformed_request",
        "65536 bytes of URL and headers, 100 headers",
    )
    assert b"aaaa" not in body
