"""`ragcorp ask` says where an answer rests on a document that was not read whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.parsing.partly_read import pdf_with_scanned_pages
from support.processes.command_line import Done


def test_an_answer_names_what_was_not_read(ragcorp: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "plazos.pdf").write_bytes(pdf_with_scanned_pages())
    assert ragcorp("ingest", str(tmp_path)).code == 0
    question = "¿Cuál es el plazo de entrega del apartado 3?"
    (named,) = ragcorp("ask", question, "--json").json["incomplete"]
    assert (named["external_id"], named["unread"][0]["places"]) == ("plazos.pdf", ["2", "4"])
    for options in ((), ("--stream",)):
        shown = ragcorp("ask", question, *options).out
        assert "may be incomplete: plazos.pdf: 2 pages have no text: 2, 4" in shown
