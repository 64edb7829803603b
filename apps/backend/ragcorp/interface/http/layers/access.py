"""Scope required by each operation; an operation that is not listed is refused."""

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from ragcorp.domain.keys import Caller, ForbiddenError, Scope
from ragcorp.interface.http.protocol.problems import problem_of
from ragcorp.interface.http.protocol.request_scope import caller_of

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Need no key: probes have none."""

PAGE_PATH = "/"
PAGE_FILES = "/assets/"
"""The web page needs no key: its user enters one."""

OPEN_OPERATIONS = frozenset({"healthz", "readyz"})

ANY_KEY = frozenset({"openapi", "docs"})
"""Need a valid key, but no scope."""

OPERATIONS: Mapping[Scope, str] = {
    Scope.SEARCH: """
        search load_context introspect_hydration status list_documents get_document get_document_content
        list_collections count_facets list_items get_item list_entities get_entity list_facts get_fact
    """,
    Scope.ASK: "ask",
    Scope.INGEST: """
        put_document delete_document delete_documents restore_document bulk_documents
        add_item put_item patch_item delete_item delete_items bulk_items
        add_entity put_entity delete_entity add_fact put_fact delete_fact bulk_graph extract_facts
    """,
    Scope.TOOLS: "grep read_file",
    Scope.ADMIN: "metrics",
}

SCOPES: Mapping[str, Scope] = {name: scope for scope, names in OPERATIONS.items() for name in names.split()}


def is_of_page(path: str) -> bool:
    """Return whether the path is the web page's or one of its files': they are the same for all callers."""
    return path == PAGE_PATH or path.startswith(PAGE_FILES)


def scope_of(operation_id: str | None) -> Scope | None:
    """Return the scope that the operation needs, or None. Raises LookupError for an unlisted one, at startup."""
    if operation_id in OPEN_OPERATIONS or operation_id in ANY_KEY:
        return None
    if operation_id is None or operation_id not in SCOPES:
        raise LookupError(
            f"the operation {operation_id!r} is not in the table of scopes (interface/http/layers/access.py)"
        )
    return SCOPES[operation_id]


def require(caller: Caller, scope: Scope | None) -> None:
    """Raise ForbiddenError unless the caller's key has the scope."""
    if scope is not None and scope not in caller.scopes:
        raise ForbiddenError(scope)


class ScopeRequired:
    def __init__(self, app: ASGIApp, *, scope: Scope) -> None:
        self._app = app
        self._scope = scope

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            require(caller_of(scope), self._scope)
        except ForbiddenError as error:
            await problem_of(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)
