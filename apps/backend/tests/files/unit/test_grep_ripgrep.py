"""What only ripgrep does: regular expressions, and a process that ends whatever happens."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
import psutil
import pytest

from ragcorp.domain.exceptions import InvalidInputError, MissingExtraError, SourceUnavailableError
from ragcorp.domain.files.values import FileMatches, GrepCase, GrepMode, LineSearch, SkippedFiles
from ragcorp.infrastructure.files.ripgrep import Ripgrep, find_ripgrep
from ragcorp.main.settings.schema import load_settings
from ragcorp.main.wiring import file_search
from support.files.grep import LONG, MAX_FILE, found, ripgrep_over
from support.files.roots import open_descriptors, reader_of, roots_of, write

pytestmark = pytest.mark.anyio


async def search(folder: Path, pattern: str, *, mode: GrepMode = GrepMode.REGEX, **options: object) -> FileMatches:
    searched = LineSearch(terms=(pattern,), mode=mode, **options)  # type: ignore[arg-type]
    return await ripgrep_over(roots_of(folder)).search(searched, seconds=LONG)


def script(folder: Path, text: str) -> Path:
    """Return a program that stands in for ripgrep."""
    path = folder / "rg"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def ripgrep_by(binary: Path, folder: Path, *, processes: int = 4) -> Ripgrep:
    roots = roots_of(folder)
    return Ripgrep(roots=roots, binary=binary, reader=reader_of(roots), max_file_bytes=MAX_FILE, processes=processes)


def is_running(pid: int) -> bool:
    """A zombie does not run, but only a child of ours would be one that we forgot: see ``children``."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


async def until_ended(*pids: int) -> None:
    """Wait for processes that were killed but are not ours to wait for."""
    async with asyncio.timeout(10):
        while any(map(is_running, pids)):  # noqa: ASYNC110 - they tell nobody
            await asyncio.sleep(0.01)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", {"a.txt": "clave uno\nclave dos\n"})


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    fifo = tmp_path / "pids"
    os.mkfifo(fifo)
    return fifo


async def pids_of(fifo: Path) -> list[int]:
    return [int(pid) for pid in (await anyio.to_thread.run_sync(fifo.read_text)).split()]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before, descriptors = children(), open_descriptors()
    yield
    assert children() <= before
    assert open_descriptors() <= descriptors + 6  # those of the event loop, which ends later


class TestRegularExpressions:
    async def test_marks_what_matched_in_characters(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "docs", {"a.txt": "El año 2024 y el año 1999\nañoso\n"})
        assert found(await search(folder, r"año \d{4}")) == {"docs/a.txt": [(1, 3, 11), (1, 17, 25)]}

    async def test_marks_what_matched_in_an_old_encoding(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "docs", {"a.txt": "señal: año 1999\n".encode("cp1252")})
        assert found(await search(folder, r"\d{4}")) == {"docs/a.txt": [(1, 11, 15)]}

    async def test_sees_the_end_of_lines_that_end_in_cr_lf(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "docs", {"a.txt": "fin\r\nfinal\r\n", "b.txt": "fin"})
        assert found(await search(folder, "fin$")) == {"docs/a.txt": [(1, 0, 3)], "docs/b.txt": [(1, 0, 3)]}
        assert found(await search(folder, "^.*$"))["docs/a.txt"] == [(1, 0, 3), (2, 0, 5)]

    async def test_matches_of_no_width_are_none(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "docs", {"a.txt": "abc\nxxb\n", "b.txt": "\n\n"})
        assert found(await search(folder, "x*")) == {"docs/a.txt": [(2, 0, 2)]}

    @pytest.mark.parametrize(
        ("pattern", "case", "lines"),
        [
            ("pla.o", GrepCase.SMART, [1, 2]),
            ("Pla.o", GrepCase.SMART, [2]),
            (r"\Bla.o", GrepCase.SMART, [1, 2]),
            ("pla.o", GrepCase.SENSITIVE, [1]),
            ("PLA.O", GrepCase.INSENSITIVE, [1, 2]),
        ],
    )
    async def test_case(self, tmp_path: Path, pattern: str, case: GrepCase, lines: list[int]) -> None:
        folder = write(tmp_path / "docs", {"a.txt": "plazo\nPlazo\n"})
        assert [line for line, *_ in found(await search(folder, pattern, case=case))["docs/a.txt"]] == lines

    async def test_a_dash_in_front_is_part_of_the_pattern(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "docs", {"a.txt": "--files"})
        for mode in GrepMode:
            assert found(await search(folder, "--files", mode=mode)) == {"docs/a.txt": [(1, 0, 7)]}

    @pytest.mark.parametrize(
        ("pattern", "place"),
        [
            ("[", " (at character 1)"),
            ("año[", " (at character 4)"),
            ("año(", ""),
            (r"(?=x)", " (at character 1)"),
            (r"\n", ""),
        ],
    )
    async def test_says_where_a_pattern_is_invalid_and_does_not_repeat_it(
        self, docs: Path, pattern: str, place: str
    ) -> None:
        with pytest.raises(InvalidInputError) as refused:
            await search(docs, pattern)
        assert refused.value.message == f"query is an invalid pattern{place}."
        assert refused.value.field == "query"
        assert refused.value.remedy

    async def test_refuses_a_pattern_that_is_too_large(self, docs: Path) -> None:
        with pytest.raises(InvalidInputError, match="too large") as refused:
            await search(docs, r"(\w{1000}){1000}")
        assert refused.value.field == "query"

    async def test_a_regex_bomb_costs_nothing(self, tmp_path: Path) -> None:
        """N54: in a backtracking engine it takes 2**40 steps."""
        folder = write(tmp_path / "docs", {"a.txt": "a" * 40 + "!"})
        matches = await search(folder, "(a+)+$")
        assert found(matches) == {}
        assert matches.searched == 1
        assert not matches.timed_out


class TestProcesses:
    async def test_finds_the_binary_of_the_package(self) -> None:
        binary = find_ripgrep()
        assert binary is not None
        assert binary.is_absolute()
        assert binary.name == "rg"

    async def test_roots_without_ripgrep_name_the_extra(
        self, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(file_search, "find_ripgrep", lambda: None)
        with pytest.raises(MissingExtraError, match="ALLOWED_PATHS") as missing:
            file_search.make_repository(load_settings({"allowed_paths": str(docs)}))
        assert (missing.value.field, "ragcorp[files]" in str(missing.value.remedy)) == ("files", True)
        assert file_search.make_repository(load_settings({})).roots == ()

    async def test_a_missing_binary_is_an_unavailable_source(self, docs: Path, tmp_path: Path) -> None:
        with pytest.raises(SourceUnavailableError) as failed:
            await ripgrep_by(tmp_path / "none", docs).search(LineSearch(terms=("x",)), seconds=LONG)
        assert failed.value.reason == "not_started"
        assert str(tmp_path) not in str(failed.value)

    @pytest.mark.parametrize("end", ["exit 2", "exit 0", "kill -9 $$", "echo '/etc: secret' >&2; exit 2"])
    async def test_a_process_that_breaks_off_is_an_unavailable_source(
        self, docs: Path, tmp_path: Path, end: str
    ) -> None:
        with pytest.raises(SourceUnavailableError) as failed:
            await ripgrep_by(script(tmp_path, end), docs).search(LineSearch(terms=("x",)), seconds=LONG)
        assert failed.value.reason == "crashed"
        assert "secret" not in str(failed.value)

    async def test_runs_without_the_environment_without_a_shell_and_in_the_root(
        self, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RIPGREP_CONFIG_PATH", "/dev/null")
        monkeypatch.setenv("SECRET", "x")
        seen = tmp_path / "seen"
        binary = script(tmp_path, f'(/usr/bin/env; /bin/pwd -P; readlink /proc/self/fd/0; echo "$@") > {seen}; exit 2')
        with pytest.raises(SourceUnavailableError):
            await ripgrep_by(binary, docs).search(LineSearch(terms=("$(touch x); `id`",)), seconds=LONG)
        lines = seen.read_text().splitlines()
        assert {line.split("=")[0] for line in lines if "=" in line and not line.startswith("--")} <= {
            "LC_ALL",
            "PWD",  # the shell of this test sets them
            "_",
            "SHLVL",
            "OLDPWD",
        }
        assert str(docs) in lines
        assert "/dev/null" in lines
        assert lines[-1].endswith("-- ./")
        assert not list(docs.glob("x*"))

    async def test_is_killed_at_the_deadline_with_its_children(self, docs: Path, tmp_path: Path, pids: Path) -> None:
        binary = script(tmp_path, f"/bin/sleep 1000 & echo $$ $! > {pids}; wait")
        running = asyncio.create_task(ripgrep_by(binary, docs).search(LineSearch(terms=("x",)), seconds=1.0))
        started = await pids_of(pids)
        matches = await running
        assert matches == FileMatches(files=(), searched=0, timed_out=True)
        await until_ended(*started)

    async def test_is_killed_when_the_caller_goes(self, docs: Path, tmp_path: Path, pids: Path) -> None:
        binary = script(tmp_path, f"/bin/sleep 1000 & echo $$ $! > {pids}; wait")
        running = asyncio.create_task(ripgrep_by(binary, docs).search(LineSearch(terms=("x",)), seconds=LONG))
        started = await pids_of(pids)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert started[0] not in children()
        await until_ended(*started)

    async def test_gives_at_the_deadline_what_it_has(self, docs: Path, tmp_path: Path) -> None:
        binary = script(tmp_path, f'{find_ripgrep()} "$@"; exec /bin/sleep 1000')
        matches = await ripgrep_by(binary, docs).search(LineSearch(terms=("clave",)), seconds=2.0)
        assert matches.timed_out
        assert found(matches) == {"docs/a.txt": [(1, 0, 5), (2, 0, 5)]}

    async def test_the_file_that_is_being_read_at_the_deadline_counts(self, docs: Path, tmp_path: Path) -> None:
        lines = f"{find_ripgrep()} --json --line-number clave ./ | /usr/bin/head -n 2"
        matches = await ripgrep_by(script(tmp_path, f"{lines}; exec /bin/sleep 1000"), docs).search(
            LineSearch(terms=("clave",)), seconds=1.0
        )
        assert matches.timed_out
        assert found(matches) == {"docs/a.txt": [(1, 0, 5)]}
        assert matches.files[0].cut

    async def test_is_killed_at_max_lines(self, docs: Path, tmp_path: Path) -> None:
        binary = script(tmp_path, f'{find_ripgrep()} "$@"; exec /bin/sleep 1000')
        matches = await ripgrep_by(binary, docs).search(LineSearch(terms=("clave",), max_lines=1), seconds=LONG)
        assert matches.cut
        assert not matches.timed_out
        assert found(matches) == {"docs/a.txt": [(1, 0, 5)]}

    async def test_waiting_for_a_turn_counts_towards_the_deadline(self, docs: Path, tmp_path: Path, pids: Path) -> None:
        ripgrep = ripgrep_by(script(tmp_path, f"echo $$ > {pids}; exec /bin/sleep 1000"), docs, processes=1)
        first = asyncio.create_task(ripgrep.search(LineSearch(terms=("x",)), seconds=LONG))
        await pids_of(pids)
        second = await ripgrep.search(LineSearch(terms=("x",)), seconds=0.2)
        assert second.timed_out
        assert not first.done()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first

    async def test_lines_without_end_are_not_held(self, docs: Path, tmp_path: Path) -> None:
        """What is between two good lines is 3 MB long."""
        binary = script(
            tmp_path,
            f"{find_ripgrep()} --json clave ./ | /usr/bin/head -n 2\n"
            'printf \'{"type":"match",\'\n'
            "/usr/bin/head -c 3000000 /dev/zero | /usr/bin/tr '\\0' x\necho\n"
            f"{find_ripgrep()} --json clave ./ | /usr/bin/tail -n 3\n",
        )
        matches = await ripgrep_by(binary, docs).search(LineSearch(terms=("clave",)), seconds=LONG)
        assert found(matches) == {"docs/a.txt": [(1, 0, 5), (2, 0, 5)]}

    async def test_the_event_loop_goes_on_while_a_large_tree_is_searched(self, tmp_path: Path) -> None:
        # to ripgrep every line holds é as a byte of Latin-1; that only the first one does takes Python a while
        text = "café\n" + "un texto chino: \u901a\n" * 3_000
        docs = write(tmp_path / "docs", {f"{number}.txt": text for number in range(200)})
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticker = asyncio.create_task(tick())
        matches = await ripgrep_over(roots_of(docs)).search(LineSearch(terms=("é",)), seconds=1.0)
        ticker.cancel()
        assert matches.timed_out or matches.cut  # where it is fast: after 200,000 lines
        assert 0 < len(matches.files) < 200
        assert ticks > 1

    @pytest.mark.parametrize("content", [b"nada\nclave secreta\n", b"\xff\xfec\0l\0a\0v\0e\0", b"nada\nla clave\n"])
    async def test_is_believed_only_where_the_file_holds_what_it_says(
        self, tmp_path: Path, docs: Path, content: bytes
    ) -> None:
        """As where a folder was a link for a moment, when it was read: here by a program that reads elsewhere."""
        outside = write(tmp_path / "outside", {"a.txt": content})
        elsewhere = script(tmp_path, f'cd {outside}; exec {find_ripgrep()} "$@"')
        matches = await ripgrep_by(elsewhere, docs).search(LineSearch(terms=("clave",)), seconds=LONG)
        nothing = await ripgrep_by(elsewhere, docs).search(LineSearch(terms=("no está",)), seconds=LONG)
        assert matches == nothing
        assert (found(matches), matches.skipped, matches.searched) == ({}, SkippedFiles(), 1)

    async def test_a_pattern_that_marks_every_character_is_cut(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {f"{number}.txt": ("x" * 100 + "\n") * 200 for number in range(10)})
        matches = await search(docs, ".")
        # 200 lines of 64 marks each would be 128,000; 125 lines, 80,000; 62 lines are 39,680
        assert [(len(file.marks), file.cut) for file in matches.files] == [(62 * 64, True)] * 10
