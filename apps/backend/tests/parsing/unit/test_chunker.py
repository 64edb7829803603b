"""Passages by hand: sections, tables, overlap, pages, and large inputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest

from ragcorp.domain.documents import ChunkDraft, ParsedText
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.infrastructure.parsing.chunker import StructureChunker

SENTENCE = "El suministro se entregará en el almacén de Logroño antes del día quince. "


def chunks(text: str, *, max_tokens: int = 64, overlap_tokens: int = 0) -> Sequence[ChunkDraft]:
    return StructureChunker(max_tokens=max_tokens, overlap_tokens=overlap_tokens).chunk(ParsedText(text=text))


def test_blank_text_has_no_passages() -> None:
    assert chunks(" \n\t\u00a0\n") == ()


def test_a_short_text_is_one_passage() -> None:
    (only,) = chunks("\n\n  # Título\n\nUna frase.\n\n")
    assert only == ChunkDraft(
        chunk_index=0,
        content="# Título\n\nUna frase.",
        heading_path=("Título",),
        line_start=3,
        line_end=5,
        page_start=None,
        page_end=None,
        token_count=5,
    )


def test_sections_are_not_mixed_and_know_their_headings() -> None:
    sections = ["# Uno", "## Dos **b**", "Tres\n----", "# Cuatro"]
    text = "\n\n".join(["Preámbulo.", *(f"{section}\n\n{SENTENCE}" for section in sections)])
    found = chunks(text)
    assert [chunk.heading_path for chunk in found] == [(), ("Uno", "Dos b"), ("Uno", "Tres"), ("Cuatro",)]
    assert found[0].content.startswith("Preámbulo.\n\n# Uno")
    assert [chunk.content.split("\n")[0] for chunk in found[1:]] == ["## Dos **b**", "Tres", "# Cuatro"]


def test_tiny_sections_share_a_passage() -> None:
    found = chunks("# FAQ\n\n## ¿A?\n\nSí.\n\n## ¿B?\n\nNo.\n\n# Otra\n\nFin.", max_tokens=256)
    assert [chunk.heading_path for chunk in found] == [("FAQ",)]


def test_what_looks_like_a_heading_in_code_or_front_matter_is_none() -> None:
    text = f"---\ntitle: x\n---\n\n```\n# no\n```\n\n{SENTENCE * 8}"
    assert {chunk.heading_path for chunk in chunks(text)} == {()}


def test_a_paragraph_over_a_rule_is_no_heading() -> None:
    assert {chunk.heading_path for chunk in chunks(f"{SENTENCE * 5}\n---\n\n{SENTENCE}")} == {()}


def test_sentences_stay_whole() -> None:
    for chunk in chunks(SENTENCE * 20):
        assert chunk.content.startswith("El suministro")
        assert chunk.content.endswith(".")


def test_overlap_starts_at_a_sentence_of_the_same_section() -> None:
    numbered = " ".join(f"La frase número {n} habla del almacén." for n in range(40))
    found = chunks(f"# A\n\n{numbered}\n\n# B\n\n{numbered}", max_tokens=64, overlap_tokens=20)
    assert len(found) > 6
    for before, after in pairwise(found):
        if after.heading_path != before.heading_path:
            assert after.content.startswith("# B")
            continue
        assert after.content.startswith("La frase número")
        assert after.content.split(".")[0] in before.content


def table_text(rows: int) -> str:
    lines = [f"| A-{number} | Instalación básica del equipo | {number},50 € |" for number in range(rows)]
    return "\n".join(
        ["# Tarifas", "", "Sin IVA.", "", "| Código | Concepto | Precio |", "|---|---|---:|", *lines, "", "Fin."]
    )


def test_tables_split_between_rows_and_repeat_their_header() -> None:
    text = table_text(40)
    lines = text.split("\n")
    header = "| Código | Concepto | Precio |\n|---|---|---:|\n"
    found = chunks(text, max_tokens=128, overlap_tokens=16)
    assert found[0].content.startswith("# Tarifas\n\nSin IVA.\n\n" + header)
    assert len(found) > 5
    seen: list[str] = []
    for chunk in found[1:]:
        assert chunk.content.startswith(header + "| A-")
        assert chunk.heading_path == ("Tarifas",)
        assert chunk.token_count <= 128
        rows = chunk.content.removeprefix(header)
        assert rows == "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
        seen += [line for line in rows.split("\n") if line.startswith("| A-")]
    first_rows = [line for line in found[0].content.split("\n") if line.startswith("| A-")]
    assert first_rows + seen == [line for line in lines if line.startswith("| A-")]
    assert found[-1].content.endswith("Fin.")


def test_a_row_over_the_cap_is_cut_under_its_header() -> None:
    found = chunks(f"| Clave | Texto |\n|---|---|\n| uno | {SENTENCE * 12}|\n| dos | corto |")
    assert len(found) > 4
    assert all(chunk.content.startswith("| Clave | Texto |\n|---|---|\n") for chunk in found)
    assert all(chunk.token_count <= 64 for chunk in found)


def test_a_header_too_wide_to_repeat_stands_once() -> None:
    header = "| " + " | ".join(f"Columna número {n}" for n in range(30)) + " |"
    text = "\n".join(
        [header, "|" + "---|" * 30, *("| " + " | ".join(f"{n}" for n in range(30)) + " |" for _ in range(4))]
    )
    found = chunks(text)
    assert sum("Columna número 3 " in chunk.content for chunk in found) == 1
    assert all(chunk.token_count <= 64 for chunk in found)


def test_bars_in_code_are_no_table() -> None:
    code = "\n".join(f"| fila {n} | valor de la celda |" for n in range(40))
    found = chunks(f"```\n| a | b |\n|---|---|\n{code}\n```")
    assert sum("| a | b |" in chunk.content for chunk in found) == 1


def test_pages() -> None:
    pages = [f"Página {n}. {SENTENCE * 3}" for n in (1, 2, 3)]
    text = "\n\n".join(pages)
    starts = (0, text.index("Página 2."), text.index("Página 3."), text.index("Página 3."))
    parsed = ParsedText(text=text, page_starts=starts)
    found = StructureChunker(max_tokens=80, overlap_tokens=0).chunk(parsed)
    for chunk in found:
        start = text.index(chunk.content)
        end = start + len(chunk.content) - 1
        assert chunk.page_start == sum(begin <= start for begin in starts)
        assert chunk.page_end == sum(begin <= end for begin in starts)
    assert found[0].page_start == 1
    assert found[-1].page_end == 4


def test_fingerprint_and_bounds() -> None:
    assert StructureChunker().fingerprint(plain=False) == "structure-1:256:32"
    assert StructureChunker().fingerprint(plain=True) == "lines-1:256:32"
    for max_tokens, overlap_tokens in ((31, 0), (2_049, 0), (64, 32), (64, -1)):
        with pytest.raises(ConfigurationError):
            StructureChunker(max_tokens=max_tokens, overlap_tokens=overlap_tokens)


HUGE = {
    "prose": "\n\n".join(f"## Sección {n}\n\n{SENTENCE * 12}" for n in range(1_000)),
    "one line": SENTENCE * 14_000,
    "one word": "a" * 1_000_000,
    "a long word": f"antes {'x' * 5_000} después",
    "unique words": " ".join(f"palabra{n}" for n in range(100_000)),
    "table": table_text(10_000),
    "headings": "\n".join(f"# Título {n}" for n in range(12_000)),
    "blank": "a" + " " * 500_000 + "\n" * 500_000 + "b",
    "quotes": ">" * 50_000 + "\n" + "- " * 50_000,
    "brackets": "[" * 200_000 + "\n" + "*" * 200_000 + "\n" + "`" * 200_001,
    "rules": "a\n---\n" * 10_000,
    "separators": "| a |\n| --- |\n" * 10_000,
    "spaces after a rule": "| a |\n" + "---|" + " " * 300_000 + "x",
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_inputs(name: str) -> None:
    text = HUGE[name]
    started = time.process_time()
    found = StructureChunker().chunk(ParsedText(text=text))
    assert time.process_time() - started < 10
    assert found
    assert all(chunk.token_count <= 256 and len(chunk.content) <= 8_000 for chunk in found)
    visible = sum(len("".join(chunk.content.split())) for chunk in found)
    assert visible >= len("".join(text.split()))


def test_a_chunk_is_never_longer_than_8000_characters() -> None:
    text = "\n".join(f"{'a' * 3}{' ' * 300}{n}" for n in range(200))
    found = StructureChunker(max_tokens=2_048, overlap_tokens=1_000).chunk(ParsedText(text=text))
    assert max(len(chunk.content) for chunk in found) <= 8_000
