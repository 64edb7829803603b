"""Writes that are sent again: the first answer is given again, and the work is done once. Pure ASGI.

After draft-ietf-httpapi-idempotency-key-header. The name is claimed before the body is read, and the request's
fingerprint is made while it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
from collections.abc import Coroutine
from collections.abc import Set as AbstractSet
from http import HTTPStatus
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragcorp.application.resilience.time_bound import run_within
from ragcorp.domain.exceptions import InvalidInputError, RagcorpError, StorageUnavailableError
from ragcorp.domain.ports.idempotency import IdempotencyName, IdempotencyStore, KeptResponse, Working
from ragcorp.interface.http.protocol.principal import caller_of
from ragcorp.interface.http.protocol.problems import RETRY_AFTER_SECONDS, STALLED, Problem, problem_of

logger = logging.getLogger(__name__)

HEADER = b"idempotency-key"
REPLAYED = "Idempotency-Replayed"
METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
KEY = re.compile(rb"[\x21-\x7e]{1,200}")
NEVER = re.compile(rb"(?!)")

MAX_KEPT_BYTES = 1024 * 1024
"""A longer answer is not kept: the write that it answers is done again."""

LEASE_SECONDS = 30.0
"""After so long without a sign of life a request is taken to have died with its process."""

STORE_SECONDS = 2.0
"""A database that has not answered by then hangs: the write says so, or goes on without its name."""

KEPT_HEADERS = frozenset({"content-type", "etag", "last-modified", "location", "content-language"})
NOT_KEPT = frozenset({401, 403, 408, 409, 413, 429, 499})
"""Statuses after which the same request may succeed: it is done again, as after 500 and above."""

IN_PROGRESS = Problem(
    status=HTTPStatus.CONFLICT,
    code="idempotency_in_progress",
    detail="A request with this Idempotency-Key is being worked on. Send it again later: it is then answered alike.",
    headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
)
MISMATCH = Problem(
    status=HTTPStatus.UNPROCESSABLE_ENTITY,
    code="idempotency_mismatch",
    detail="This Idempotency-Key was used for another request. Use a new key for another method, path, query or body.",
)


class Idempotency:
    """Answers a repeated write as it was answered first. ``reads`` are paths whose POST changes nothing."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        store: IdempotencyStore,
        reads: AbstractSet[str],
        upload_seconds: float,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._app = app
        self._store = store
        self._reads = reads
        self._upload_seconds = upload_seconds
        self._lease_seconds = lease_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        keys = [value for name, value in scope["headers"] if name == HEADER] if _is_write(scope, self._reads) else []
        if not keys:
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._answer(scope, receive, send, keys)
        except RagcorpError as error:
            answer = problem_of(error).response(scope)
        if answer is not None:
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, keys: list[bytes]) -> Response | None:
        """Return what to answer; None where the request was worked on, and is answered."""
        if len(keys) != 1 or not KEY.fullmatch(keys[0]):
            raise InvalidInputError(
                "Idempotency-Key is not one that can be used.",
                field="Idempotency-Key",
                limit="once, 1 to 200 visible ASCII characters",
                remedy="Send a random one, such as a UUID, with each write.",
            )
        caller = caller_of(scope)
        name = IdempotencyName(
            workspace=caller.principal.workspace, caller=caller.key_id or "", key=keys[0].decode("ascii")
        )
        owner = secrets.token_bytes(32)
        try:
            found = await run_within(
                STORE_SECONDS, self._store.claim(name, owner=owner, lease_seconds=self._lease_seconds)
            )
        except TimeoutError:
            raise StorageUnavailableError(
                "The Idempotency-Key cannot be looked up at the moment.",
                reason="timeout",
                remedy="Try again; `ragcorp doctor` tells more.",
            ) from None
        if isinstance(found, Working):
            return IN_PROGRESS.response(scope)
        if found is not None:
            return await self._repeated(found, scope, receive)
        await _FirstRequest(self._store, name, owner=owner, lease_seconds=self._lease_seconds).run(
            self._app, scope, receive, send
        )
        return None

    async def _repeated(self, kept: KeptResponse, scope: Scope, receive: Receive) -> Response:
        fingerprint = _Fingerprint(scope)
        try:
            async with asyncio.timeout(self._upload_seconds):
                while not fingerprint.is_complete:
                    message = await receive()
                    if message["type"] != "http.request":
                        return Response(status_code=499)
                    fingerprint.feed(message)
        except TimeoutError:
            return STALLED.response(scope)
        if not secrets.compare_digest(fingerprint.digest(), kept.fingerprint):
            return MISMATCH.response(scope)
        return Response(kept.body, status_code=kept.status, headers={**dict(kept.headers), REPLAYED: "true"})


class _FirstRequest:
    """One write that is done, under a name that it holds until it is answered."""

    def __init__(self, store: IdempotencyStore, name: IdempotencyName, *, owner: bytes, lease_seconds: float) -> None:
        self._store = store
        self._name = name
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._settled = False
        self._start: Message = {}
        self._parts: list[bytes] = []
        self._size = 0

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        fingerprint = _Fingerprint(scope)

        async def watched_receive() -> Message:
            message = await receive()
            fingerprint.feed(message)
            return message

        async def watched_send(message: Message) -> None:
            """Keep the answer before its end goes out: whoever has it whole may ask for it again."""
            if message["type"] == "http.response.start":
                self._start = message
            elif message["type"] == "http.response.body":
                body = message.get("body", b"")
                self._size += len(body)
                if self._size <= MAX_KEPT_BYTES:
                    self._parts.append(body)
                if not message.get("more_body", False):
                    await self._settle(fingerprint)
            await send(message)

        renewing = asyncio.create_task(self._renew())
        try:
            await app(scope, watched_receive, watched_send)
        finally:
            renewing.cancel()
            # a caller that left does not keep the name: what it sent is done again, or was refused
            await asyncio.shield(self._release())

    async def _settle(self, fingerprint: _Fingerprint) -> None:
        status = self._start.get("status", 500)
        if (
            not fingerprint.is_complete
            or status in NOT_KEPT
            or status >= HTTPStatus.INTERNAL_SERVER_ERROR
            or self._size > MAX_KEPT_BYTES
        ):
            await self._release()
            return
        response = KeptResponse(
            fingerprint=fingerprint.digest(),
            status=status,
            headers=[
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in self._start.get("headers", ())
                if name.decode("latin-1").lower() in KEPT_HEADERS
            ],
            body=b"".join(self._parts),
        )
        await self._write(self._store.complete(self._name, response, owner=self._owner))

    async def _release(self) -> None:
        if not self._settled:
            await self._write(self._store.release(self._name, owner=self._owner))

    async def _write(self, writing: Coroutine[Any, Any, None]) -> None:
        """The write itself is done: where this one fails, the name is free again when its lease ends."""
        self._settled = True
        try:
            await run_within(STORE_SECONDS, writing)
        except (RagcorpError, TimeoutError) as error:
            logger.warning("an answer was not kept for its Idempotency-Key: %s", _why(error))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / 3)
            try:
                await run_within(STORE_SECONDS, self._store.renew(self._name, owner=self._owner))
            except (RagcorpError, TimeoutError) as error:
                logger.warning("the lease of an Idempotency-Key was not renewed: %s", _why(error))


class _Fingerprint:
    """SHA-256 of method, path, query, media type, file name and body.

    Of a form it is that of its parts, since senders draw its boundary anew.
    """

    def __init__(self, scope: Scope) -> None:
        content_type = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        media_type, options = parse_options_header(content_type)
        boundary = options.get(b"boundary") if media_type.startswith(b"multipart/") else None
        self._head = hashlib.sha256()
        file_name = next((value for name, value in scope["headers"] if name == b"content-disposition"), b"")
        for part in (scope["method"].encode(), scope["raw_path"], scope["query_string"], media_type, file_name):
            self._head.update(len(part).to_bytes(8, "big") + part)
        self._body = _Parts(boundary)
        self.is_complete = not _has_body(scope)

    def feed(self, message: Message) -> None:
        if message["type"] != "http.request":
            return
        self._body.update(message.get("body", b""))
        self.is_complete = self.is_complete or not message.get("more_body", False)

    def digest(self) -> bytes:
        return hashlib.sha256(self._head.digest() + self._body.digest()).digest()


class _Parts:
    """SHA-256 of the digests of a multipart body's parts; without a boundary the body is one.

    They are cut where the boundary delimits: at a line's start, with nothing behind it on the line (RFC 2046) or the
    two hyphens of the last one. The same characters elsewhere belong to a part.
    """

    def __init__(self, boundary: bytes | None) -> None:
        self._delimiter = re.compile(rb"\r\n--" + re.escape(boundary) + rb"(?=\r\n|--)") if boundary else NEVER
        self._undecided = len(boundary or b"") + 5  # so many bytes may be the beginning of a delimiter
        self._rest = b"\r\n"  # the first delimiter begins the body, and so a line
        self._part = hashlib.sha256()
        self._parts = hashlib.sha256()

    def update(self, body: bytes) -> None:
        *ended, rest = self._delimiter.split(self._rest + body)
        for end in ended:
            self._part.update(end)
            self._parts.update(self._part.digest())
            self._part = hashlib.sha256()
        decided = max(0, len(rest) - self._undecided)
        self._part.update(rest[:decided])
        self._rest = rest[decided:]

    def digest(self) -> bytes:
        part, parts = self._part.copy(), self._parts.copy()
        part.update(self._rest)
        parts.update(part.digest())
        return parts.digest()


def _why(error: RagcorpError | TimeoutError) -> str:
    return error.code if isinstance(error, RagcorpError) else "timeout"


def _is_write(scope: Scope, reads: AbstractSet[str]) -> bool:
    return scope["type"] == "http" and scope["method"] in METHODS and scope["path"] not in reads


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in scope["headers"]
    )
