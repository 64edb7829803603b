"""Search as you type, driven by keys."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from textual import events
from textual.widgets import Input

from ragcorp.domain.exceptions import InvalidInputError, StorageUnavailableError
from ragcorp.domain.retrieval import Contribution
from ragcorp.interface.tui.app import RagTui
from ragcorp.interface.tui.help_screen import HelpScreen
from ragcorp.interface.tui.search_screen import SearchScreen
from ragcorp.interface.tui.viewer_screen import ViewerScreen
from support.tui.driving import found, pointed, put, rows, running, screen, sees, shown, status, typed, until
from support.tui.scripted import Search, passage, response, services

pytestmark = pytest.mark.anyio

CONTRACT = passage(
    1,
    "## Plazos\n\nEl plazo de entrega es de 30 días hábiles.\nEl pago se hace a 60 días.",
    path="docs/contrato.md",
    line_start=5,
    title="Contrato marco",
    matched_lines=(7,),
    sources=(
        Contribution("dense", 2, 0.8123, "cosine_similarity", 1.0, 1 / 62),
        Contribution("grep", 1, 3.2, "grep", 1.0, 1 / 61),
    ),
)
CANTEEN = passage(2, "El comedor abre a las dos.", path="docs/comedor.md", line_start=3, title="Comedor")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_passages_with_marks_and_ranks_as_you_type(size: tuple[int, int]) -> None:
    search = Search(default=response(CONTRACT, CANTEEN))
    async with running(RagTui(services(search=search)), size=size) as pilot:
        await found(pilot, "plázo")
        assert search.requests[-1].profile == "files"
        assert search.requests[-1].explain
        await sees(pilot, "  8 El pago se hace a 60 días.")
        seen = screen(pilot)
        assert "docs/contrato.md:5-8" in seen
        assert "Comedor" in seen
        assert "dense #2 .812 +.0161 · grep #1 3.2 +.0164" in seen
        assert "> 7 El plazo de entrega es de 30 días hábiles." in seen
        # 75 characters in CONTRACT's four lines with their line ends, 26 in CANTEEN's
        characters = len(CONTRACT.chunk.content) + len(CANTEEN.chunk.content)
        assert status(pilot).startswith(f"hybrid_search: 2 chunks, {characters} characters, ")
        await until(pilot, lambda: pointed(pilot) == [7])
        view = pilot.app.screen.query_one("#passage")
        marked = [segment.text for segment in view.render_line(6) if segment.style and segment.style.underline]  # type: ignore[attr-defined]
        assert marked == ["plazo"]


async def test_what_is_typed_in_one_go_is_searched_once() -> None:
    search = Search(default=response(CONTRACT))
    async with running(RagTui(services(search=search))) as pilot:
        query = pilot.app.screen.query_one(Input)
        for end in range(1, 6):
            query.value = "plazo"[:end]
        await until(pilot, lambda: "chunk" in status(pilot))
        assert search.queries == ["plazo"]


async def test_a_running_search_is_cancelled_by_the_next() -> None:
    search = Search(default=response(CANTEEN), gates={"plazo": asyncio.Event()})
    async with running(RagTui(services(search=search))) as pilot:
        put(pilot, "plazo")
        await search.entered.wait()
        await typed(pilot, "s")
        await until(pilot, lambda: "chunk" in status(pilot))
        assert search.cancelled == ["plazo"]
        await until(pilot, lambda: "docs/comedor.md" in rows(pilot)[0])


async def test_late_results_are_never_shown_over_newer_ones() -> None:
    gate = asyncio.Event()
    search = Search(
        answers={"plazo": response(CONTRACT)}, default=response(CANTEEN), gates={"plazo": gate}, stubborn=True
    )
    async with running(RagTui(services(search=search))) as pilot:
        put(pilot, "plazo")
        await search.entered.wait()
        await typed(pilot, "s")
        await until(pilot, lambda: "chunk" in status(pilot))
        gate.set()
        await pilot.pause()
        await pilot.pause()
        await until(pilot, lambda: "docs/comedor.md" in rows(pilot)[0])


async def test_an_emptied_query_empties_the_list() -> None:
    async with running(RagTui(services(search=Search(default=response(CONTRACT))))) as pilot:
        await found(pilot, "x")
        await pilot.press("backspace")
        await until(pilot, lambda: status(pilot) == "Ready.")
        await until(pilot, lambda: rows(pilot) == [])
        await sees(pilot, "Ctrl+P")


async def test_another_passage_while_typing() -> None:
    async with running(RagTui(services(search=Search(default=response(CONTRACT, CANTEEN))))) as pilot:
        await found(pilot, "plazo")
        await until(pilot, lambda: [row[:2] for row in rows(pilot)] == ["> ", "  "])
        await pilot.press("down")
        await until(pilot, lambda: "El comedor abre a las dos." in shown(pilot))
        await until(pilot, lambda: [row[:2] for row in rows(pilot)] == ["  ", "> "])
        await pilot.press("down", "up")
        await until(pilot, lambda: "## Plazos" in shown(pilot))
        await until(pilot, lambda: pilot.app.screen.query_one(Input).has_focus)


async def test_enter_never_opens_a_passage_of_an_older_query() -> None:
    gate = asyncio.Event()
    search = Search(default=response(CONTRACT), gates={"comedor": gate})
    async with running(RagTui(services(search=search))) as pilot:
        await found(pilot, "plazo")
        put(pilot, "comedor")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: search.queries == ["plazo", "comedor"])
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        gate.set()
        await until(pilot, lambda: "chunk" in status(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ViewerScreen))


async def test_tab_goes_round_and_escape_back() -> None:
    async with running(RagTui(services(search=Search(default=response(CONTRACT, CANTEEN))))) as pilot:
        await found(pilot, "plazo")
        focused = []
        for _ in range(3):
            await pilot.press("tab")
            focused.append(pilot.app.focused and pilot.app.focused.id)
        assert focused == ["results", "passage", "query"]
        await pilot.press("tab", "down")
        await until(pilot, lambda: "El comedor abre a las dos." in shown(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen.query_one(Input).has_focus)


async def test_another_profile_searches_anew() -> None:
    search = Search(default=response(CONTRACT))
    async with running(RagTui(services(search=search))) as pilot:
        await found(pilot, "plazo")
        await pilot.press("ctrl+p", "down", "enter")
        await until(pilot, lambda: "grep_search" in status(pilot))
        assert [request.profile for request in search.requests] == ["files", "grep"]
        assert status(pilot).startswith("grep_search: 1 passage in 1 file, ")
        await sees(pilot, "[grep]")
        await pilot.press("ctrl+p", "up", "up", "up", "enter")
        await until(pilot, lambda: len(search.requests) == 3)
        assert search.requests[-1].profile is None  # auto
        await pilot.press("ctrl+p", "escape")
        await sees(pilot, "[auto]")


async def test_sources_that_are_out_are_named_in_plain_words() -> None:
    search = Search(default=response(CONTRACT, degraded=[("grep", "timeout"), ("graph", "broken")]))
    async with running(RagTui(services(search=search))) as pilot:
        await found(pilot, "plazo")
        await sees(pilot, "! grep did not answer in time. graph did not do its part (broken).")


async def test_a_database_that_dies_and_comes_back() -> None:
    down = StorageUnavailableError("PostgreSQL cannot be reached.", remedy="Start it.")
    search = Search(default=response(CONTRACT))
    async with running(RagTui(services(search=search))) as pilot:
        await found(pilot, "plazo")
        search.default = down
        await typed(pilot, "s")
        await until(pilot, lambda: "PostgreSQL" in status(pilot))
        assert status(pilot) == "! PostgreSQL cannot be reached. Start it. Ctrl+R searches again."
        await until(pilot, lambda: "docs/contrato.md" in rows(pilot)[0])
        search.default = response(CANTEEN)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "chunk" in status(pilot))
        await until(pilot, lambda: "docs/comedor.md" in rows(pilot)[0])


async def test_errors_are_said_and_end_nothing() -> None:
    too_long = InvalidInputError(
        "query must have at most 2,000 characters.", field="query", limit="2000 characters", remedy="Shorten query."
    )
    search = Search(answers={"a": too_long, "ab": ValueError("secret /host/path")}, default=response(CONTRACT))
    async with running(RagTui(services(search=search))) as pilot:
        await typed(pilot, "a")
        await until(pilot, lambda: "2,000 characters" in status(pilot))
        await sees(pilot, "Shorten query.")
        await typed(pilot, "b")
        await until(pilot, lambda: "unexpected" in status(pilot))
        assert "ValueError" in status(pilot)
        assert "secret" not in screen(pilot)
        await typed(pilot, "c")
        await until(pilot, lambda: "chunk" in status(pilot))


async def test_nothing_found_is_said() -> None:
    async with running(RagTui(services(search=Search(default=response())))) as pilot:
        await found(pilot, "x")
        await sees(pilot, "Nothing found.")
        assert status(pilot).startswith("hybrid_search: 0 chunks, 0 characters, ")
        await pilot.press("enter", "down", "tab", "tab")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))


async def test_spanish_input_and_paste() -> None:
    search = Search(default=response(CONTRACT))
    async with running(RagTui(services(search=search))) as pilot:
        await typed(pilot, "¿Qué señal, ñandú?")
        await until(pilot, lambda: search.queries[-1:] == ["¿Qué señal, ñandú?"])
        query = pilot.app.screen.query_one(Input)
        query.post_message(events.Paste(" uno\r\n\tdos\x1b[31m\n"))
        await until(pilot, lambda: search.queries[-1:] == ["¿Qué señal, ñandú? uno dos�[31m"])
        query.value = ""
        query.post_message(events.Paste("palabra " * 100_000))
        await until(pilot, lambda: len(search.queries[-1]) > 2000)
        assert len(search.queries[-1]) <= 20_000


async def test_hostile_text_neither_steers_nor_marks_up() -> None:
    content = (
        "[bold red]x[/] \x1b]0;title\x07 \x1b[2J \u202eoiranimes\u202c [link=file:///etc]y[/link] [@click=app.quit]z[/]"
    )
    hit = passage(1, content, path="docs/[red]a\x1b[31m.md", title="[reverse]t[/reverse]\nb")
    error = StorageUnavailableError("[bold]down[/bold]")
    search = Search(default=response(hit, degraded=[("[b]grep[/b]", "timeout")]), answers={"[red]e": error})
    async with running(RagTui(services(search=search)), size=(120, 30)) as pilot:
        await found(pilot, "[b]")
        await sees(pilot, "[bold red]x[/]")
        seen = screen(pilot)
        assert "[@click=app.quit]z[/]" in seen
        assert "docs/[red]a[31m.md" in seen
        assert "[reverse]t[/reverse] b" in seen
        assert "[b]grep[/b] did not answer" in seen
        assert not {"\x1b", "\x07", "\u202e", "\u202c"} & set(seen)
        pilot.app.screen.query_one(Input).value = "[red]e"
        await until(pilot, lambda: "[bold]down[/bold]" in screen(pilot))


async def test_steps_and_collections_of_an_explained_result() -> None:
    hit = replace(
        CANTEEN,
        collections=("artifact_chunks", "memory"),
        steps={"decay": {"age_days": 30.0, "factor": 0.87}, "deduplicate": {"removed": 2, "kept": True}},
    )
    async with running(RagTui(services(search=Search(default=response(hit))))) as pilot:
        await found(pilot, "x")
        await until(pilot, lambda: "decay: age_days 30, factor .87" in shown(pilot))
        await until(pilot, lambda: "deduplicate: removed 2, kept true" in shown(pilot))
        await until(pilot, lambda: "in artifact_chunks, memory" in shown(pilot))


async def test_a_page_of_a_document_has_no_line_numbers() -> None:
    hit = passage(1, "uno\ndos plazos", path="docs/manual.pdf", page=4)
    async with running(RagTui(services(search=Search(default=response(hit))))) as pilot:
        await found(pilot, "plazo")
        await until(pilot, lambda: "docs/manual.pdf page 4" in shown(pilot))
        await sees(pilot, "> dos plazos")


@pytest.mark.parametrize("size", [(40, 15), (10, 3)])
async def test_small_terminals(size: tuple[int, int]) -> None:
    search = Search(default=response(CONTRACT, CANTEEN))
    async with running(RagTui(services(search=search)), size=size) as pilot:
        await found(pilot, "plazo")
        if size == (40, 15):
            await sees(pilot, ">")
            assert "marco" not in status(pilot)
            await sees(pilot, "hybrid_search: 2 chunks")
        await pilot.press("down", "enter")
        await pilot.press("escape", "ctrl+p", "escape", "ctrl+a", "f1", "escape", "ctrl+a")
        await pilot.resize_terminal(120, 40)
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "docs/comedor.md" in screen(pilot))


async def test_the_keys_are_in_the_footer_and_the_help() -> None:
    async with running(RagTui(services(facts=("embeddings: none",))), size=(80, 24)) as pilot:
        await sees(pilot, "^q Quit")
        footer = screen(pilot).splitlines()[-1]
        for key in ("Enter", "Open", "Ask", "Profile", "F1", "Help", "Quit"):
            assert key in footer
        await typed(pilot, "?")
        assert pilot.app.screen.query_one(Input).value == "?"
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await until(pilot, lambda: "  embeddings: none" in shown(pilot))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
        await pilot.press("tab", "?")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))


@pytest.mark.parametrize("keys", [("ctrl+q",), ("tab", "q"), ("ctrl+p", "ctrl+q")])
async def test_quitting(keys: tuple[str, ...]) -> None:
    app = RagTui(services())
    async with running(app) as pilot:
        await pilot.press(*keys)
    assert app.return_code == 0
    assert not app.is_running


async def test_a_fault_of_its_own_shows_no_variables() -> None:
    app = RagTui(services())

    def fault() -> None:
        secret = "s3cret"
        raise ValueError(len(secret))

    with pytest.raises(ValueError, match="6"):
        async with running(app) as pilot:
            app.call_later(fault)
            await until(pilot, lambda: not app.is_running)
    assert isinstance(app.failure, ValueError)
    assert app._exit_renderables == []


async def test_without_colour_nothing_depends_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    app = RagTui(services(search=Search(default=response(CONTRACT, CANTEEN))), colour=False)
    async with running(app) as pilot:
        await found(pilot, "plazo")
        await sees(pilot, "> 7 El plazo")
        strips = pilot.app.screen._compositor.render_strips()
        filtered = [
            piece for strip in strips for piece in strip.apply_filter(app._filters[-1], app.screen.background_colors[1])
        ]
        assert all(
            piece.style is None or (piece.style.color is None or piece.style.color.is_default) for piece in filtered
        )
        marked = {piece.text for piece in filtered if piece.style and piece.style.underline}
        assert marked == {"plazo", "Plazos"}
        await sees(pilot, "> 7 El plazo")
        assert rows(pilot)[0].startswith("> ")
