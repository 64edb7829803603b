"""Rate and open requests of each key. Pure ASGI; the body is not read."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ragcorp.application.limits.key_meter import KeyMeter
from ragcorp.application.limits.token_budget import ACCOUNT
from ragcorp.domain.exceptions import BusyError
from ragcorp.domain.keys import TooManyRequestsError
from ragcorp.domain.ports.keys import TokenAccount
from ragcorp.interface.http.monitoring.metrics import HttpMetrics
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.http.protocol.request_scope import caller_of


class KeyLimits:
    """Answers 429 above a key's rate or concurrency, and sets the account of the request's language model tokens."""

    def __init__(self, app: ASGIApp, *, meter: KeyMeter, metrics: HttpMetrics) -> None:
        self._app = app
        self._meter = meter
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        if caller.key_id is None:
            await self._app(scope, receive, send)
            return
        key = caller.key_id
        try:
            await self._meter.enter(key)
        except (TooManyRequestsError, BusyError) as refused:
            self._metrics.count_refusal(refused.reason)
            await problem_of(refused)(scope, receive, send)
            return
        account = ACCOUNT.set(TokenAccount(workspace=caller.principal.workspace, key_id=key))
        try:
            await self._app(scope, receive, send)
        finally:
            ACCOUNT.reset(account)
            self._meter.leave(key)
