"""What the page's tests find in the service: a company's documents, a long one, and some that want to do harm."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from fpdf import FPDF

import ragcorp
from ragcorp.application.keys.create import CreateKey, KeyRequest
from ragcorp.domain.documents import DocumentAttributes, SourceFile
from ragcorp.domain.ingestion import IngestRequest
from ragcorp.domain.keys import Scope
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.postgres.connections.database import Database, DatabaseOptions
from ragcorp.infrastructure.postgres.keys.store import PostgresKeyStore
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring.base import Parts
from ragcorp.main.wiring.container import Container, open_container
from ragcorp.main.wiring.keys import make_digests, utc_now
from support.models.embedders import HashingEmbedder

COMPANY = Path(ragcorp.__file__).parent / "demo_corpus" / "documents"
SALES, LEGAL = "ventas", "juridico"
"""Workspaces with a document each; COMPANY, the long document and the hostile ones are in the workspace `default`."""

LONG_PAGES = 200
LONG_NAME = "manual/normas-de-obra.pdf"
"""Page N has the article N, with the term `clave-NNN` on it and on no other page."""

LONG_WORD = "Rindfleischetikettierung" * 417
"""More than 10,000 characters without a place to break."""

BIDI = "factura\u202egpj.exe\u202c \u2066\u2067شركة\u2069 \u200f"
IMAGE = "<img src=x onerror=\"document.title='ROTO'\">"
SCRIPT = "</script><script>document.title='ROTO'</script>"

HOSTILE = {
    "hostil/imagen.md": (IMAGE, f"Cláusula hostil con imagen. {IMAGE} <svg onload=\"document.title='ROTO'\"> fin."),
    "hostil/guion.md": (SCRIPT, f"Cláusula hostil con guion. {SCRIPT} [enlace](javascript:document.title='ROTO') fin."),
    "hostil/bidi.md": (BIDI, f"Cláusula hostil bidireccional. {BIDI} fin."),
    "hostil/palabra.md": (LONG_WORD[:200], f"Cláusula hostil con palabra larga. {LONG_WORD} fin."),
    f"hostil/{IMAGE.replace('/', '-')}.md": ("Ruta hostil", "Cláusula hostil en una ruta que es una imagen."),
}
"""Title and text by external_id. Each says «cláusula hostil»; the title of the tab turns to ROTO where one runs."""

OURS = {
    SALES: ("precios.md", "El descuento de ventas para Cooperativa Alborada es del 12 %."),
    LEGAL: ("pleito.md", "El pleito con Naviera Trafalgar se señala para el 3 de marzo."),
}
"""What a workspace holds, and no other."""


def long_pdf(*, pages: int = LONG_PAGES) -> bytes:
    """A manual of as many pages, with an article on each."""
    pdf = FPDF()
    pdf.set_title("Normas de obra")
    pdf.set_font("helvetica", size=11)
    for number in range(1, pages + 1):
        pdf.add_page()
        pdf.multi_cell(
            0,
            6,
            f"Artículo {number}. El jefe de obra anota en el registro clave-{number:03} las mermas de la partida "
            f"{number}, con su fecha, y las comunica a la oficina técnica en un plazo de {number + 1} días.",
        )
    return bytes(pdf.output())


async def fill(dsn: str, *, long: bool = True) -> None:
    """Store all of the above in an empty database, vectors included."""
    settings = load_settings({"embedding_provider": "none", "enable_hybrid_search": True})
    async with open_container(settings, dsn, parts=Parts(embedder=HashingEmbedder())) as container:
        spanish = DocumentAttributes(language="es")
        here = Principal()
        report = await container.use_cases.ingest_folder.ingest(COMPANY, principal=here, attributes=spanish)
        assert not report.failures
        for name, (title, text) in HOSTILE.items():
            await _store(container, name, text.encode(), here, replace(spanish, title=title, metadata={"autor": title}))
        for workspace, (name, text) in OURS.items():
            await _store(container, name, text.encode(), Principal(workspace=workspace), spanish)
        if long:
            await _store(container, LONG_NAME, long_pdf(), here, spanish, media_type="application/pdf")
        while (await container.use_cases.embed_pending.embed()).embedded:
            pass


async def _store(
    container: Container,
    name: str,
    content: bytes,
    principal: Principal,
    attributes: DocumentAttributes,
    media_type: str = "text/markdown",
) -> None:
    file = SourceFile(content=content, media_type=media_type, filename=name.rsplit("/", 1)[-1])
    request = IngestRequest(external_id=name, file=file, attributes=attributes)
    await container.use_cases.ingest.ingest(request, principal=principal)


async def make_keys(dsn: str) -> dict[str, str]:
    """Make a key for each of the two workspaces, and one that may only search: by SALES, LEGAL and "search"."""
    settings = load_settings({"embedding_provider": "none"})
    database = Database(dsn, options=DatabaseOptions(pool_size=2))
    await database.open()
    try:
        store = PostgresKeyStore(database=database)
        create = CreateKey(store=store, digests=make_digests(settings, store), random=os.urandom, now=utc_now)
        full = frozenset({Scope.SEARCH, Scope.ASK, Scope.INGEST})
        wanted = {SALES: (SALES, full), LEGAL: (LEGAL, full), "search": (SALES, frozenset({Scope.SEARCH}))}
        made = {}
        for name, (workspace, scopes) in wanted.items():
            asked = KeyRequest(scopes=scopes, workspace=workspace, clearance=Sensitivity.CONFIDENTIAL)
            made[name] = (await create.create(asked)).credential
        return made
    finally:
        await database.close()
