"""The port Reranker over the ``/rerank`` that hosted and self-hosted servers share."""

import asyncio
import json
import math
import re
from collections.abc import Sequence
from importlib.util import find_spec

from ragcorp.domain.exceptions import ConfigurationError, MissingExtraError, SourceUnavailableError
from ragcorp.infrastructure.network.egress import REFUSED, check_base_url, reason_of_status, was_refused

MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""Some servers return the passages even if not requested."""

_PRINTABLE = re.compile(r"[!-~]*")


class HttpReranker:
    """Posts ``{model, query, documents, top_n, return_documents}`` and reads ``results: [{index, relevance_score}]``.

    Works with Cohere, Jina, vLLM, llama.cpp and Infinity; also accepts ``data`` for ``results``, ``score`` for
    ``relevance_score`` and a bare list. One attempt under one deadline. ``model`` may be blank for a server with one
    model, ``api_key`` for a server without keys.
    Raises MissingExtraError or ConfigurationError.
    """

    name = "http"

    def __init__(self, *, url: str, model: str, api_key: str, timeout_seconds: float) -> None:
        if find_spec("httpx2") is None:
            raise MissingExtraError(feature="A reranking server", extra="rerank")
        import httpx2

        from ragcorp.infrastructure.network.transport import GuardedTransport

        # the client would quote an invalid key in its error
        if not _PRINTABLE.fullmatch(api_key):
            raise ConfigurationError(
                "The key of the reranker contains a character that is not allowed in a header.",
                field="RERANK_API_KEY",
                remedy="Check the key for spaces, line ends and quotation marks.",
            )
        try:
            self._url = httpx2.URL(url)
        except httpx2.InvalidURL:
            raise _not_a_url() from None
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise _not_a_url()
        check_base_url(url, field="RERANK_URL")
        self._model = model
        self._timeout_seconds = timeout_seconds
        self._client = httpx2.AsyncClient(
            # compressed bodies have no bound
            headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {}),
            timeout=timeout_seconds,
            follow_redirects=False,
            trust_env=False,
            transport=GuardedTransport(),
        )

    async def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return one finite score per passage, in order. Raises SourceUnavailableError."""
        if not passages:
            return []
        body: dict[str, object] = {
            "query": query,
            "documents": list(passages),
            "top_n": len(passages),
            "return_documents": False,
        }
        if self._model:
            body["model"] = self._model
        return _scores_of(_parsed(await self._post(body)), len(passages))

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _post(self, body: dict[str, object]) -> bytes:
        import httpx2

        content = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._client.stream("POST", self._url, json=body) as response,
            ):
                if response.status_code != 200:
                    raise _unavailable(reason_of_status(response.status_code))
                if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                    raise _unavailable("bad_response")
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > MAX_RESPONSE_BYTES:
                        raise _unavailable("bad_response")
        except (TimeoutError, httpx2.TimeoutException):
            raise _unavailable("timeout") from None
        except (httpx2.NetworkError, httpx2.ProxyError) as error:
            raise _unavailable(REFUSED if was_refused(error) else "unreachable") from error
        except httpx2.HTTPError as error:
            raise _unavailable("bad_response") from error
        return bytes(content)


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # the error would quote the response
        raise _unavailable("bad_response") from None


def _scores_of(answer: object, count: int) -> list[float]:
    """Return one score per passage, in their order."""
    items = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
    if not isinstance(items, list):
        raise _unavailable("bad_response")
    if len(items) != count:
        raise _unavailable("wrong_count")
    scores: dict[int, float] = {}
    for item in items:
        if not isinstance(item, dict):
            raise _unavailable("bad_response")
        index = item.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count or index in scores:
            raise _unavailable("wrong_index")
        scores[index] = _finite(item.get("relevance_score", item.get("score")))
    return [scores[index] for index in range(count)]


def _finite(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, float | int):
        raise _unavailable("invalid_score")
    try:
        value = float(score)
    except OverflowError:
        raise _unavailable("invalid_score") from None
    if not math.isfinite(value):
        raise _unavailable("invalid_score")
    return value


def _not_a_url() -> ConfigurationError:
    return ConfigurationError(
        "The address of the reranker is not an HTTP URL.",
        field="RERANK_URL",
        limit="http:// or https://, and a host",
        remedy="Give the whole address of its endpoint, such as http://127.0.0.1:8080/v1/rerank.",
    )


def _unavailable(reason: str) -> SourceUnavailableError:
    return SourceUnavailableError(
        "The reranker gave no usable scores.",
        reason=reason,
        remedy="Check RERANK_URL, RERANK_API_KEY and RERANK_MODEL if this lasts.",
    )
