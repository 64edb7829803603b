"""ragcorp: hybrid retrieval and cited answers over one PostgreSQL, for documents in Spanish first.

    import ragcorp

    async with ragcorp.open() as rag:
        await rag.ingest_text("contrato.md", "El plazo de entrega es de 30 días.")
        print((await rag.ask("¿Cuál es el plazo de entrega?")).text)

In a script or a notebook, `with ragcorp.open() as rag:` gives the same object with blocking methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragcorp.domain.exceptions import FileAccessError, RagcorpError
from ragcorp.domain.files.values import FileText, GrepPassage, GrepResult
from ragcorp.domain.principal import Principal, Sensitivity

if TYPE_CHECKING:
    from ragcorp.interface.library.context_client import load_memory_context, load_memory_context_blocking
    from ragcorp.main.opening.library import open_rag as open  # noqa: A004 - `ragcorp.open` is the name that users look for
    from ragcorp.main.wiring.base import Parts

__version__ = "0.1.0"
__all__ = [
    "FileAccessError",
    "FileText",
    "GrepPassage",
    "GrepResult",
    "Parts",
    "Principal",
    "RagcorpError",
    "Sensitivity",
    "__version__",
    "load_memory_context",
    "load_memory_context_blocking",
    "open",
]


def __getattr__(name: str) -> Any:
    # loaded at first use: `import ragcorp` alone stays light
    if name == "open":
        from ragcorp.main.opening.library import open_rag

        return open_rag
    if name == "Parts":
        from ragcorp.main.wiring.base import Parts

        return Parts
    if name in ("load_memory_context", "load_memory_context_blocking"):
        from ragcorp.interface.library import context_client

        return getattr(context_client, name)
    raise AttributeError(f"module 'ragcorp' has no attribute '{name}'")
