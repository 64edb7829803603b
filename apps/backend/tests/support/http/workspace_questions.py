"""What two workspaces hold, and all that one of them asks: every operation of the description, and every tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

OURS, TWIN = "uno", "dos"
CANARY = "quetzal"
"""In every secret of the twin."""

QUERY = f"plazo de entrega de Acme Corporation {CANARY[:-1]}"
"""A word that the twin alone has, mistyped: what corrects it must not know the twin's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request of an operation. ``told``: its answer must be the same beside a twin, and have worked or not."""

    method: str
    path: str
    body: Any = None
    lines: Any = None
    params: Mapping[str, str] = field(default_factory=dict)
    same: bool = True
    works: bool | None = True


Names = Mapping[str, str]
"""What only the twin has: names and ids."""


def read(path: str, **params: str) -> Ask:
    return Ask(method="GET", path=path, params=params)


def miss(method: str, path: str, body: Any = None, **params: str) -> Ask:
    return Ask(method=method, path=path, body=body, params=params, works=False)


def write(method: str, path: str, body: Any = None, **params: str) -> Ask:
    return Ask(method=method, path=path, body=body, params=params)


def reads(theirs: Names) -> dict[str, list[Ask]]:
    """What is asked, by operation id, in an order in which nothing is changed."""
    query = {"query": QUERY, "limit": 50}
    their_document = {"document_id": theirs["document_id"]}
    their_cursor = theirs["cursor"]
    documents, memory = "/documents", "/collections/memory/items"
    return {
        "search": [
            *(
                write("POST", "/search", query | {"mode": mode, "explain": True, "facets": True})
                for mode in ("dense", "sparse", "hybrid", "auto")
            ),
            *(
                write("POST", "/search", query | {"profile": profile, "explain": True, "include_memory": True})
                for profile in ("collections", "memory", "code", "files")
            ),
            write("POST", "/search", query | {"filters": their_document}),
            write("POST", "/search", query | {"episode_id": "e-1"}),
            write("POST", "/search", query | {"exact_keywords": "plazo es"}),
            write("POST", "/search", query | {"stream": True}),
            write("POST", "/search", query | {"expand_neighbors": 2, "fusion": {"rank_window_size": 100}}),
        ],
        "ask": [
            write("POST", "/ask", {"query": QUERY}),
            write("POST", "/ask", {"query": QUERY, "stream": True}),
            write("POST", "/ask", {"query": QUERY, "profile": "memory", "conversation_id": "c-1"}),
            write("POST", "/ask", {"query": "¿y cuándo?", "conversation_id": "c-1"}),
            write("POST", "/ask", {"query": QUERY, "episode_id": "e-1"}),
            write("POST", "/ask", {"query": QUERY, "filters": their_document}),
        ],
        "load_context": [read("/context"), read("/context", query=QUERY), read("/context", session="s-1")],
        "introspect_hydration": [
            read("/introspect/hydration/e-1"),
            miss("GET", f"/introspect/hydration/{theirs['episode']}"),
        ],
        "list_documents": [
            read(documents),
            read(documents, prefix="plazos"),
            read(documents, deleted="true"),
            Ask(method="GET", path=documents, params={"cursor": their_cursor}, same=False, works=None),
        ],
        "get_document": [read(f"{documents}/plazos.md"), miss("GET", f"{documents}/{theirs['document']}")],
        "get_document_content": [
            read(f"{documents}/plazos.md/content"),
            miss("GET", f"{documents}/{theirs['document']}/content"),
        ],
        "list_collections": [read("/collections")],
        "count_facets": [read("/collections/facets")],
        "list_items": [
            read(f"/collections/{name}/items") for name in ("artifacts", "artifact_chunks", "memory", "history")
        ],
        "get_item": [
            read(f"{memory}/m-1"),
            read("/collections/history/items/t-1"),
            miss("GET", f"{memory}/{theirs['memory']}"),
            miss("GET", f"/collections/artifact_chunks/items/{quote(theirs['chunk'], safe='')}"),
            miss("GET", f"/collections/artifacts/items/{theirs['document']}"),
        ],
        "list_entities": [read("/graph/entities"), read("/graph/entities", name="Acme Corporation")],
        "get_entity": [read("/graph/entities/acme"), miss("GET", f"/graph/entities/{theirs['entity']}")],
        "list_facts": [read("/graph/facts"), read("/graph/facts", entity="acme")],
        "get_fact": [read("/graph/facts/f-1"), miss("GET", f"/graph/facts/{theirs['fact']}")],
        "grep": [miss("POST", "/grep", {"query": "plazo"})],
        "read_file": [miss("POST", "/files/read", {"path": "raiz/secreto.md"})],
        "status": [read("/status")],
        "metrics": [Ask(method="GET", path="/metrics", same=False)],
        "healthz": [read("/healthz")],
        "readyz": [read("/readyz")],
    }


def writes(theirs: Names) -> dict[str, list[Ask]]:
    """What changes something; the names are the twin's too, or the twin's alone."""
    text = "El plazo de Acme Corporation es de diez días."
    memory = "/collections/memory/items"
    their_chunk = f"/collections/artifact_chunks/items/{quote(theirs['chunk'], safe='')}"
    return {
        "patch_item": [
            write("PATCH", f"{memory}/m-1", {"text": text}),
            miss("PATCH", f"{memory}/{theirs['memory']}", {"text": text}),
            miss("PATCH", their_chunk, {"text": text}),
        ],
        "put_item": [write("PUT", f"{memory}/m-1", {"text": text})],
        "add_item": [write("POST", memory, {"text": text, "external_id": "m-9"})],
        "bulk_items": [Ask(method="POST", path=f"{memory}/bulk", lines={"external_id": "m-8", "text": text})],
        "delete_item": [write("DELETE", f"{memory}/m-1"), miss("DELETE", f"{memory}/{theirs['memory']}")],
        "delete_items": [write("DELETE", memory, prefix="m-")],
        "put_entity": [write("PUT", "/graph/entities/acme", {"name": "Acme Corporation", "description": text})],
        "add_entity": [write("POST", "/graph/entities", {"name": "Luis", "external_id": "luis"})],
        "put_fact": [
            write("PUT", "/graph/facts/f-1", {"subject": "Luis", "predicate": "lleva", "object": "Acme Corporation"}),
            miss(
                "PUT",
                "/graph/facts/f-3",
                {"subject": {"external_id": theirs["entity"]}, "predicate": "lleva", "object": "Luis"},
            ),
        ],
        "add_fact": [write("POST", "/graph/facts", {"subject": "Luis", "predicate": "ve", "object": "Marta"})],
        "bulk_graph": [Ask(method="POST", path="/graph/bulk", lines={"type": "entity", "name": "Pilar"})],
        "extract_facts": [Ask(method="POST", path="/graph/extract", body={"document": "plazos.md"}, works=None)],
        "delete_fact": [write("DELETE", "/graph/facts/f-1"), miss("DELETE", f"/graph/facts/{theirs['fact']}")],
        "delete_entity": [
            write("DELETE", "/graph/entities/acme"),
            miss("DELETE", f"/graph/entities/{theirs['entity']}"),
        ],
        "put_document": [write("PUT", "/documents/plazos.md", {"title": "Plazos", "text": text})],
        "bulk_documents": [
            Ask(method="POST", path="/documents/bulk", lines={"external_id": "masa.md", "title": "Masa", "text": text})
        ],
        "delete_document": [write("DELETE", "/documents/masa.md"), miss("DELETE", f"/documents/{theirs['document']}")],
        "restore_document": [
            write("POST", "/documents/masa.md/restore"),
            miss("POST", f"/documents/{theirs['document']}/restore"),
        ],
        "delete_documents": [write("DELETE", "/documents", prefix="plazos")],
    }


TOOL_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "hybrid_search": {"semantic_query": QUERY, "include_memory": True, "expand_neighbors": True},
    "vector_search": {"query": QUERY},
    "memory_search": {"query": QUERY},
    "grep_search": {"query": "plazo"},
    "read_file": {"path": "raiz/secreto.md"},
    "ask": {"query": QUERY, "include_memory": True},
    "context": {"query": QUERY},
}


def contents(workspace: str) -> Iterator[tuple[str, str, Any]]:
    """Yield what is stored in a workspace: the names are the same in both, what is said is not."""
    secret = CANARY if workspace == TWIN else "colibri"
    said = f"El plazo de entrega de Acme Corporation es de treinta días, clave {secret}."
    for number in range(3 if workspace == TWIN else 1):
        name = "plazos.md" if number == 0 else f"{CANARY}-{number}.md"
        text = f"# Plazos\n\n{said}\n\n## Entrega\n\n{said} Parte {number}.\n"
        yield "PUT", f"/documents/{name}", {"title": "Plazos", "text": text, "metadata": {"clave": secret}}
    if workspace == TWIN:
        yield "PUT", "/documents/solo.md", {"title": secret, "text": said, "path": f"{secret}/solo.md"}
        yield "PUT", "/collections/memory/items/m-2", {"text": said, "speaker": secret}
        yield "PUT", "/graph/entities/sola", {"name": f"Sola {secret}", "description": said}
    yield "PUT", "/collections/memory/items/m-1", {"text": said, "speaker": "Marta", "session": "s-1"}
    yield "PUT", "/collections/history/items/t-1", {"text": said, "session": "s-1", "timestamp": "2026-11-02T10:00:00Z"}
    yield "PUT", "/graph/entities/acme", {"name": "Acme Corporation", "description": said, "aliases": [secret]}
    fact = {"subject": f"Marta {secret}", "predicate": "lleva el contrato de", "object": "Acme Corporation"}
    yield "PUT", "/graph/facts/f-1", fact | {"quote": said}
    if workspace == TWIN:
        yield "PUT", "/graph/facts/f-2", fact | {"predicate": f"guarda {secret} de"}
        yield "POST", "/search", {"query": "plazo", "episode_id": "e-2"}
    yield "POST", "/search", {"query": "plazo", "episode_id": "e-1"}
    yield "POST", "/ask", {"query": f"¿plazo de {secret}?", "conversation_id": "c-1"}


def names_of_nobody() -> Names:
    names = {"document": "solo.md", "memory": "m-2", "entity": "sola", "fact": "f-2", "episode": "e-2"}
    return names | {"document_id": str(uuid4()), "chunk": str(uuid4()), "cursor": "x"}
