"""What each operation asks of a key: one table, and nothing that is not in it is served."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from ragcorp.domain.keys import Caller, ForbiddenError, Scope
from ragcorp.interface.http.protocol.principal import caller_of
from ragcorp.interface.http.protocol.problems import problem_of

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Need no key: what asks them has none."""

PAGE_PATH = "/"
PAGE_FILES = "/assets/"
"""The web page needs no key: it asks its user for one."""

OPEN_OPERATIONS = frozenset({"healthz", "readyz"})

ANY_KEY = frozenset({"openapi", "docs"})
"""Need a valid key, and no scope of it."""

SCOPES: Mapping[str, Scope] = {
    "search": Scope.SEARCH,
    "load_context": Scope.SEARCH,
    "introspect_hydration": Scope.SEARCH,
    "status": Scope.SEARCH,
    "list_documents": Scope.SEARCH,
    "get_document": Scope.SEARCH,
    "get_document_content": Scope.SEARCH,
    "list_collections": Scope.SEARCH,
    "count_facets": Scope.SEARCH,
    "list_items": Scope.SEARCH,
    "get_item": Scope.SEARCH,
    "list_entities": Scope.SEARCH,
    "get_entity": Scope.SEARCH,
    "list_facts": Scope.SEARCH,
    "get_fact": Scope.SEARCH,
    "ask": Scope.ASK,
    "put_document": Scope.INGEST,
    "delete_document": Scope.INGEST,
    "delete_documents": Scope.INGEST,
    "restore_document": Scope.INGEST,
    "bulk_documents": Scope.INGEST,
    "add_item": Scope.INGEST,
    "put_item": Scope.INGEST,
    "patch_item": Scope.INGEST,
    "delete_item": Scope.INGEST,
    "delete_items": Scope.INGEST,
    "bulk_items": Scope.INGEST,
    "add_entity": Scope.INGEST,
    "put_entity": Scope.INGEST,
    "delete_entity": Scope.INGEST,
    "add_fact": Scope.INGEST,
    "put_fact": Scope.INGEST,
    "delete_fact": Scope.INGEST,
    "bulk_graph": Scope.INGEST,
    "extract_facts": Scope.INGEST,
    "grep": Scope.TOOLS,
    "read_file": Scope.TOOLS,
    "metrics": Scope.ADMIN,
}
"""By operation id."""


def is_of_page(path: str) -> bool:
    """Say whether the path is the web page's, or that of a file of its: the same for everybody, and nobody's."""
    return path == PAGE_PATH or path.startswith(PAGE_FILES)


def scope_of(operation_id: str | None) -> Scope | None:
    """Return the scope that the operation needs, None for none.

    Raises LookupError for an operation that nobody has decided on: the application does not start.
    """
    if operation_id in OPEN_OPERATIONS or operation_id in ANY_KEY:
        return None
    if operation_id is None or operation_id not in SCOPES:
        raise LookupError(f"the operation {operation_id!r} is not in the table of scopes (interface/http/access.py)")
    return SCOPES[operation_id]


def require(caller: Caller, scope: Scope | None) -> None:
    """Raise ForbiddenError unless the caller's key has the scope."""
    if scope is not None and scope not in caller.scopes:
        raise ForbiddenError(scope)


class ScopeRequired:
    """Guards an application that is mounted beside the routes."""

    def __init__(self, app: ASGIApp, *, scope: Scope) -> None:
        self._app = app
        self._scope = scope

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            require(caller_of(scope), self._scope)
        except ForbiddenError as error:
            await problem_of(error).response(scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)
