"""A passage opened in its file."""

from __future__ import annotations

import asyncio

import pytest

from ragcorp.domain.exceptions import FileAccessDeniedError, FileIsBinaryError, FileTooLargeError
from ragcorp.interface.tui.app import RagTui
from ragcorp.interface.tui.line_view import LineView
from ragcorp.interface.tui.search_screen import SearchScreen
from ragcorp.interface.tui.viewer_screen import ViewerScreen
from support.tui.driving import AnyPilot, found, pointed, running, screen, sees, shown, status, until
from support.tui.scripted import Files, Search, passage, response, services

pytestmark = pytest.mark.anyio

LINES = [f"línea {number}" for number in range(1, 301)]
LINES[149:152] = ["## Plazos", "El plazo de entrega es de 30 días.", "El pago, a 60."]
LINES[249] = "Otro plazo, lejos de allí."
TEXT = "\n".join(LINES)
HIT = passage(1, "\n".join(LINES[149:152]), path="docs/largo.md", line_start=150, matched_lines=(151,))


def app(*, files: Files, hit: object = HIT) -> RagTui:
    return RagTui(services(search=Search(default=response(hit)), read=files))  # type: ignore[arg-type]


async def opened(pilot: AnyPilot, query: str = "plazo") -> None:
    await found(pilot, query)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen) and "Reading" not in status(pilot))


async def test_the_whole_file_at_the_matched_line() -> None:
    files = Files(texts={"docs/largo.md": TEXT})
    async with running(app(files=files)) as pilot:
        await opened(pilot)
        assert files.asked == [("docs/largo.md", None, None)]
        assert len(shown(pilot)) == 300
        await sees(pilot, "> 151")
        seen = screen(pilot).splitlines()
        assert seen[0] == "docs/largo.md:150-152"
        # 21 rows of text; the line stands a third down: 151 in the row of index 7, below the title's row
        assert seen[8] == "> 151 El plazo de entrega es de 30 días."
        assert seen[7] == "| 150 ## Plazos"
        assert seen[9] == "| 152 El pago, a 60."
        assert seen[10] == "  153 línea 153"
        await until(pilot, lambda: pointed(pilot) == [151])
        await sees(pilot, "docs/largo.md: lines 1-300 of 300, utf-8")
        await pilot.press("pagedown", "end")
        await until(pilot, lambda: "300 línea 300" in screen(pilot))
        await pilot.press("N")
        await until(pilot, lambda: "> 151" in screen(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))


@pytest.mark.parametrize(("size", "row"), [((80, 24), 8), ((40, 15), 5)])
async def test_a_file_that_comes_after_the_first_layout_is_shown_at_the_line(size: tuple[int, int], row: int) -> None:
    """As every real one does: the pane is laid out, empty, while the file is read."""
    gate = asyncio.Event()
    async with running(app(files=Files(texts={"docs/largo.md": TEXT}, gate=gate)), size=size) as pilot:
        await found(pilot, "plazo")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen) and "Reading" in status(pilot))
        for _ in range(3):
            await pilot.pause()
        gate.set()
        await sees(pilot, "> 151")
        assert screen(pilot).splitlines()[row].startswith("> 151 El plazo de entrega")
        await pilot.resize_terminal(60, 20)
        await sees(pilot, "> 151")


async def test_lines_with_the_words_are_gone_to_where_none_is_matched_literally() -> None:
    hit = passage(1, "\n".join(LINES[149:152]), path="docs/largo.md", line_start=150)
    async with running(app(files=Files(texts={"docs/largo.md": TEXT}), hit=hit)) as pilot:
        await opened(pilot)
        await until(pilot, lambda: pointed(pilot) == [150, 151])


async def test_a_file_that_is_too_large_is_read_around_the_passage() -> None:
    too_large = FileTooLargeError("The file is too large.", limit="1 MB")
    files = Files(texts={"docs/largo.md": TEXT}, errors={"docs/largo.md": too_large})
    hit = passage(1, LINES[249], path="docs/largo.md", line_start=250)
    async with running(app(files=files, hit=hit)) as pilot:
        await opened(pilot)
        assert files.asked[-1] == ("docs/largo.md", 50, 450)
        await sees(pilot, "> 250 Otro plazo, lejos de allí.")
        assert "lines 50-300 of 300" in status(pilot)


@pytest.mark.parametrize(
    "error",
    [
        FileAccessDeniedError("The path leads out. Allowed roots: docs."),
        FileIsBinaryError("The file holds binary data."),
        OSError("/host/path"),
    ],
)
async def test_the_passage_alone_where_the_file_cannot_be_had(error: Exception) -> None:
    files = Files(errors={"docs/largo.md": error})
    async with running(app(files=files)) as pilot:
        await opened(pilot)
        assert status(pilot).startswith("The passage alone. ")
        assert ("[ERROR: " in status(pilot)) == (not isinstance(error, OSError))
        assert "/host/path" not in screen(pilot)
        await sees(pilot, "> 151 El plazo de entrega es de 30 días.")


async def test_a_page_of_a_converted_document_is_not_looked_for_by_line() -> None:
    files = Files(texts={"docs/manual.pdf": "x"})
    async with running(app(files=files, hit=passage(1, "un plazo", path="docs/manual.pdf", page=3))) as pilot:
        await opened(pilot)
        assert files.asked == []
        await sees(pilot, "The passage alone: it stands in no text file.")
        await sees(pilot, "un plazo")
        assert screen(pilot).count("docs/manual.pdf page 3") == 1


async def test_a_file_that_changed_is_said_to_have() -> None:
    files = Files(texts={"docs/largo.md": "otra cosa\n" * 400})
    async with running(app(files=files)) as pilot:
        await opened(pilot)
        await sees(pilot, "! The passage reads differently here: the file changed, or is HTML or CSV.")


async def test_long_lines_are_wrapped_and_wide_letters_counted() -> None:
    text = "palabra " * 30 + "fin\n" + "漢" * 100 + "\n\tsangrado\r\n" + "a" * 200
    files = Files(texts={"docs/ancho.md": text})
    hit = passage(1, "fin", path="docs/ancho.md", line_start=1)
    async with running(app(files=files, hit=hit)) as pilot:
        await opened(pilot, "fin")
        await sees(pilot, "> 1 palabra")
        # 75 cells a row beside the gutter of 4 and the scroll bar: 9 words, and 37 wide letters
        seen = screen(pilot).splitlines()
        assert seen[1] == "> 1 " + " ".join(["palabra"] * 9)
        assert seen[4] == "|   " + " ".join(["palabra"] * 3) + " fin"
        assert seen[5] == "  2 " + "漢" * 37
        assert seen[7] == "    " + "漢" * 26
        assert seen[8] == "  3     sangrado"
        assert seen[9] == "  4 " + "a" * 75
        await pilot.resize_terminal(40, 15)
        await until(pilot, lambda: screen(pilot).splitlines()[1] == "> 1 palabra palabra palabra palabra")


async def test_a_megabyte_is_drawn_where_it_is_seen() -> None:
    files = Files(texts={"docs/grande.md": "una línea de texto que no dice mucho\n" * 30_000 + "el plazo"})
    hit = passage(1, "el plazo", path="docs/grande.md", line_start=30_001)
    async with running(app(files=files, hit=hit)) as pilot:
        await opened(pilot)
        await sees(pilot, "> 30001 el plazo")
        assert pilot.app.screen.query_one(LineView).virtual_size.height == 30_001


async def test_a_line_of_a_megabyte_is_searched_for_marks_once() -> None:
    files = Files(texts={"docs/una.js": "plazo;señal;" * 80_000})
    hit = passage(1, "plazo;", path="docs/una.js", line_start=1)
    async with running(app(files=files, hit=hit)) as pilot:
        await opened(pilot)
        await sees(pilot, "> 1 plazo;señal;")
        view = pilot.app.screen.query_one(LineView)
        calls, marks = [], view._marks
        view._marks = lambda line: calls.append(len(line)) or marks(line)  # type: ignore[func-returns-value]
        view._marked.clear()
        await pilot.press("pagedown", "pagedown")
        await until(pilot, lambda: view.scroll_offset.y > 30)
        assert calls == [960_000]
