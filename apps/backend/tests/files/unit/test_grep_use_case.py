"""The use case of a search in files, over real files and ripgrep: what it finds, orders, marks and withholds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragcorp.domain.exceptions import (
    FileAccessDeniedError,
    FileTooLargeError,
    InvalidInputError,
    SourceUnavailableError,
    StorageUnavailableError,
)
from ragcorp.domain.files.values import (
    ChunkPlace,
    FileAccess,
    FileMatches,
    FileText,
    GrepMode,
    GrepPassage,
    GrepRequest,
    GrepResult,
    LineSearch,
    SkippedFiles,
)
from ragcorp.domain.principal import Principal, Sensitivity
from ragcorp.infrastructure.files.repository import LocalFileRepository
from support.files.grep import MAX_FILE, StoredFiles, grep_over, repository_over
from support.files.roots import roots_of, write

pytestmark = pytest.mark.anyio

ANYONE = Principal()


def numbered(count: int, **texts: str) -> str:
    """Return lines ``line 1`` to ``line <count>``; ``L5="clave"`` puts another text in line 5."""
    return "\n".join(texts.get(f"L{number}", f"line {number}") for number in range(1, count + 1)) + "\n"


def marked(passage: GrepPassage) -> list[str]:
    """Return the texts that are marked."""
    lines = passage.text.split("\n")
    return [lines[mark.line - passage.line_start][mark.start : mark.end] for mark in passage.marks]


def spans(result: GrepResult) -> list[tuple[str, int, int]]:
    return [(item.path, item.line_start, item.line_end) for item in result.passages]


class TestContextOfMatches:
    """Requirement: Context window enrichment for grep results."""

    async def test_grep_match_with_context_window(self, tmp_path: Path) -> None:
        """WHEN a match stands at line N THEN lines max(1, N-10) to N+10 are one passage AND the match is marked."""
        docs = write(tmp_path / "docs", {"a.txt": numbered(100, L50="aquí está la clave")})
        (passage,) = (await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)).passages
        assert (passage.path, passage.line_start, passage.line_end) == ("docs/a.txt", 40, 60)
        expected = [f"line {number}" for number in range(40, 50)] + ["aquí está la clave"]
        assert passage.text.split("\n") == expected + [f"line {number}" for number in range(51, 61)]
        assert [mark.line for mark in passage.marks] == [50]
        assert marked(passage) == ["clave"]
        assert passage.terms == ("clave",)

    @pytest.mark.parametrize(
        ("line", "start", "end"), [(1, 1, 11), (11, 1, 21), (12, 2, 22), (95, 85, 100), (100, 90, 100)]
    )
    async def test_the_window_ends_where_the_file_does(self, tmp_path: Path, line: int, start: int, end: int) -> None:
        docs = write(tmp_path / "docs", {"a.txt": numbered(100, **{f"L{line}": "clave"})})
        result = await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert spans(result) == [("docs/a.txt", start, end)]

    async def test_multiple_matches_in_same_file_within_context_range(self, tmp_path: Path) -> None:
        """WHEN two matches in one file are within 20 lines of each other THEN they are one passage."""
        docs = write(tmp_path / "docs", {"a.txt": numbered(200, L50="clave", L70="clave", L91="clave")})
        result = await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)
        # two marks in 41 lines are more than one in 21
        assert spans(result) == [("docs/a.txt", 40, 80), ("docs/a.txt", 81, 101)]
        assert [[mark.line for mark in each.marks] for each in result.passages] == [[50, 70], [91]]
        assert (result.files, result.matched_lines, result.searched) == (1, 3, 1)
        assert result.characters == sum(len(each.text) for each in result.passages)


class TestWhatIsLookedFor:
    async def test_the_query_as_a_whole_comes_first(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "plazo de entrega", "b.txt": "entrega: el plazo"})
        result = await grep_over(docs).grep(GrepRequest(query="plazo de entrega"), principal=ANYONE)
        assert spans(result) == [("docs/a.txt", 1, 1)]
        assert result.terms == ("plazo de entrega",)
        assert not result.relaxed

    async def test_its_words_where_nothing_holds_it_whole(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "plazo de pago", "b.txt": "de entrega: el plazo", "c.txt": "de todo"})
        result = await grep_over(docs).grep(GrepRequest(query="plazo de entrega"), principal=ANYONE)
        assert spans(result) == [("docs/b.txt", 1, 1), ("docs/a.txt", 1, 1)]
        assert result.relaxed
        assert [item.terms for item in result.passages] == [("plazo", "entrega"), ("plazo",)]
        assert marked(result.passages[0]) == ["entrega", "plazo"]

    async def test_quotes_keep_words_together(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "plazo de pago", "b.txt": "pago sin plazo", "c.txt": "mora"})
        result = await grep_over(docs).grep(GrepRequest(query='"plazo de pago" mora'), principal=ANYONE)
        assert sorted(spans(result)) == [("docs/a.txt", 1, 1), ("docs/c.txt", 1, 1)]

    async def test_terms_are_any_of_them_whatever_their_accents(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "la facturación", "b.txt": "factura y facturacion", "c.txt": "nada"})
        request = GrepRequest(query="q", terms=("facturación", "factura y"))
        result = await grep_over(docs).grep(request, principal=ANYONE)
        assert [(item.path, item.terms) for item in result.passages] == [
            ("docs/b.txt", ("facturación", "factura y")),
            ("docs/a.txt", ("facturación",)),
        ]
        assert not result.relaxed

    async def test_a_regular_expression(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "INC-3072 y INC-3088", "b.txt": "INC-x"})
        result = await grep_over(docs).grep(GrepRequest(query=r"INC-\d+", mode=GrepMode.REGEX), principal=ANYONE)
        assert [marked(item) for item in result.passages] == [["INC-3072", "INC-3088"]]
        with pytest.raises(InvalidInputError, match="character 1"):
            await grep_over(docs).grep(GrepRequest(query="[", mode=GrepMode.REGEX), principal=ANYONE)

    async def test_no_more_passages_than_asked_for_but_all_of_them_counted(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {f"{number:02}.txt": "clave\nclave" for number in range(30)})
        result = await grep_over(docs).grep(GrepRequest(query="clave", max_passages=3), principal=ANYONE)
        assert spans(result) == [(f"docs/{number:02}.txt", 1, 2) for number in range(3)]
        assert (result.files, result.matched_lines) == (30, 60)

    async def test_long_lines_are_cut_to_what_surrounds_the_match(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.js": "x" * 60_000 + "clave" + "y" * 60_000})
        (passage,) = (await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)).passages
        assert len(passage.text) == 20_000
        assert marked(passage) == ["clave"]


class TestWhoMayFind:
    async def test_no_roots(self) -> None:
        with pytest.raises(FileAccessDeniedError) as denied:
            await grep_over().grep(GrepRequest(query="x"), principal=ANYONE)
        assert denied.value.message == "[ERROR: ACCESS_DENIED] No roots are allowed: set ALLOWED_PATHS."

    @pytest.mark.parametrize("principal", [Principal(workspace="other"), Principal(clearance=Sensitivity.NORMAL)])
    async def test_a_caller_of_another_workspace_or_without_clearance(
        self, tmp_path: Path, principal: Principal
    ) -> None:
        """As if there were no roots; and no file is searched for them."""
        docs = write(tmp_path / "docs", {"a.txt": "clave"})
        grep = grep_over(docs, access=FileAccess(sensitivity=Sensitivity.CONFIDENTIAL))
        with pytest.raises(FileAccessDeniedError) as denied:
            await grep.grep(GrepRequest(query="clave"), principal=principal)
        assert denied.value.message == "[ERROR: ACCESS_DENIED] No roots are allowed: set ALLOWED_PATHS."
        assert (await grep.grep(GrepRequest(query="clave"), principal=ANYONE)).files == 1

    @pytest.mark.parametrize("name", ["docs/secreto.txt", "secreto.txt"])
    @pytest.mark.parametrize("query", ["clave", "clave maestra"])
    async def test_a_withheld_file_leaves_no_trace(self, tmp_path: Path, name: str, query: str) -> None:
        """The result is the one of a tree in which the file holds nothing, the relaxed query included."""
        public = {"a.txt": "una clave\n", "b.txt": "otra clave, maestra\n"}
        docs = write(tmp_path / "one/docs", {**public, "secreto.txt": "la clave maestra\n" * 3})
        other = write(tmp_path / "two/docs", {**public, "secreto.txt": "nada"})
        request = GrepRequest(query=query)
        withheld = await grep_over(docs, documents=StoredFiles(withheld=frozenset({name}))).grep(
            request, principal=ANYONE
        )
        assert withheld == await grep_over(other).grep(request, principal=ANYONE)
        assert withheld.files == 2
        assert (await grep_over(docs).grep(request, principal=ANYONE)) != withheld

    async def test_a_file_that_the_filters_exclude_is_left_out(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "b.txt": "clave"})
        documents = StoredFiles(excluded=frozenset({"b.txt"}))
        result = await grep_over(docs, documents=documents).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert spans(result) == [("docs/a.txt", 1, 1)]
        assert result.files == 1

    async def test_storage_is_asked_once_about_every_file_and_each_passage(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {f"{number:03}.txt": f"Clave {number}" for number in range(100)})
        documents = StoredFiles()
        await grep_over(docs, documents=documents).grep(GrepRequest(query="clave", max_passages=2), principal=ANYONE)
        (lines,) = documents.calls
        assert sorted(item.names for item in lines) == [
            (f"docs/{number:03}.txt", f"{number:03}.txt") for number in range(100)
        ]
        assert [(item.matched_lines, item.matched_texts) for item in lines[:2]] == [((1,), ("Clave",))] * 2
        assert all(not item.matched_texts for item in lines[24:])

    async def test_what_storage_was_not_asked_about_is_not_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ragcorp.application.files.grep.MAX_FILES", 3)
        docs = write(tmp_path / "docs", {f"{number}.txt": "clave" for number in range(5)})
        result = await grep_over(docs).grep(GrepRequest(query="clave", max_passages=1), principal=ANYONE)
        assert (result.files, result.matched_lines, result.cut) == (3, 3, True)
        documents = StoredFiles(withheld=frozenset({"0.txt"}))
        result = await grep_over(docs, documents=documents).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert spans(result) == [("docs/1.txt", 1, 1), ("docs/2.txt", 1, 1)]

    async def test_fails_closed_without_the_database(self, tmp_path: Path) -> None:
        class Down(StoredFiles):
            async def look_up(self, *_: object, **__: object) -> list[object]:  # type: ignore[override]
                raise StorageUnavailableError("PostgreSQL cannot be reached.")

        docs = write(tmp_path / "docs", {"a.txt": "clave"})
        with pytest.raises(StorageUnavailableError):
            await grep_over(docs, documents=Down()).grep(GrepRequest(query="clave"), principal=ANYONE)

    async def test_a_withheld_file_with_too_many_matches_cuts_nothing(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave\n", "secreto.txt": "clave\n" * 1_001})
        documents = StoredFiles(withheld=frozenset({"secreto.txt"}))
        assert not (await grep_over(docs, documents=documents).grep(GrepRequest(query="clave"), principal=ANYONE)).cut
        assert (await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)).cut

    async def test_a_withheld_file_that_cannot_be_read_is_not_counted(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "b.txt": "clave"})

        class Refusing(LocalFileRepository):
            async def read_passages(self, path: str, *args: Any, **options: Any) -> list[FileText]:
                if path == "docs/b.txt":
                    raise FileTooLargeError("Too large.")
                return await super().read_passages(path, *args, **options)

        for withheld, skipped in ((frozenset[str](), 1), (frozenset({"b.txt"}), 0)):
            repository = repository_over(roots_of(docs))
            repository.__class__ = Refusing
            grep = grep_over(repository=repository, documents=StoredFiles(withheld=withheld))
            result = await grep.grep(GrepRequest(query="clave"), principal=ANYONE)
            assert (result.files, result.skipped) == (1, SkippedFiles(too_large=skipped))

    async def test_withheld_files_take_no_readable_ones_place(self, tmp_path: Path) -> None:
        secret = {f"{number:02}.txt": "clave clave" for number in range(31)}
        docs = write(tmp_path / "docs", {**secret, "z.txt": "clave", "y.txt": "clave"})
        documents = StoredFiles(withheld=frozenset(secret))
        result = await grep_over(docs, documents=documents).grep(
            GrepRequest(query="clave", max_passages=1), principal=ANYONE
        )
        assert (spans(result), result.files) == ([("docs/y.txt", 1, 1)], 2)
        assert len(documents.calls) == 2


class TestBounds:
    async def test_an_answer_holds_so_many_characters(self, tmp_path: Path) -> None:
        line = "clave " + "x" * 93
        docs = write(tmp_path / "docs", {f"{number:02}.txt": f"{line}\n" * 180 for number in range(30)})
        result = await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)
        # 180 lines of 99 characters and their ends; eleven passages would be 197,989, twelve are too much
        assert [len(item.text) for item in result.passages] == [17_999] * 11
        assert (result.files, result.cut) == (30, True)
        whole = await grep_over(docs).grep(GrepRequest(query="clave", max_characters=None), principal=ANYONE)
        assert (len(whole.passages), whole.cut) == (30, False)

    async def test_lines_that_a_file_does_not_tell_are_said(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave\n" * 1_001, "b.txt": "clave"})
        result = await grep_over(docs).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert (result.files, result.matched_lines, result.cut) == (2, 1_001, True)

    def test_terms_are_so_long_together(self) -> None:
        with pytest.raises(InvalidInputError) as refused:
            GrepRequest(query="x", terms=tuple(f"{number:02}{'ñ' * 900}" for number in range(12)))
        assert (refused.value.field, refused.value.limit) == ("terms", "10000 characters")

    async def test_words_that_are_too_many_are_said(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "el REQ-2026-014"})
        words = [f"palabra{letter}{other}" for letter in "abcdef" for other in "abcdef"]
        result = await grep_over(docs).grep(GrepRequest(query=" ".join([*words, "REQ-2026-014"])), principal=ANYONE)
        assert result.relaxed
        assert result.terms == (*words[:23], "REQ-2026-014")
        assert result.left_out == tuple(words[23:])
        assert spans(result) == [("docs/a.txt", 1, 1)]


class TestChunks:
    async def test_a_passage_of_a_document_names_its_chunk(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "b.txt": "clave"})
        chunk = ChunkPlace("7", "3", 0)
        documents = StoredFiles(chunks={"docs/a.txt": {1: chunk}})
        result = await grep_over(docs, documents=documents).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert [(item.path, item.chunk) for item in result.passages] == [("docs/a.txt", chunk), ("docs/b.txt", None)]

    async def test_passages_of_one_chunk_are_one_in_the_best_ones_place(self, tmp_path: Path) -> None:
        chunk, other = ChunkPlace("7", "3", 0), ChunkPlace("8", "3", 1)
        docs = write(
            tmp_path / "docs",
            {"a.txt": numbered(200, L20="clave", L45="clave y llave", L120="clave"), "b.txt": "clave clave"},
        )
        documents = StoredFiles(chunks={"docs/a.txt": {20: chunk, 45: chunk, 120: other}})
        request = GrepRequest(query="q", terms=("clave", "llave"))
        result = await grep_over(docs, documents=documents).grep(request, principal=ANYONE)
        assert spans(result) == [("docs/a.txt", 10, 55), ("docs/b.txt", 1, 1), ("docs/a.txt", 110, 130)]
        joined = result.passages[0]
        assert joined.chunk == chunk
        assert [mark.line for mark in joined.marks] == [20, 45, 45]
        assert marked(joined) == ["clave", "clave", "llave"]
        assert joined.text.split("\n")[15] == "line 25"
        assert result.matched_lines == 4

    async def test_those_too_far_apart_are_the_best_alone(self, tmp_path: Path) -> None:
        chunk = ChunkPlace("7", "3", 0)
        docs = write(tmp_path / "docs", {"a.txt": numbered(400, L20="clave", L345="clave y llave")})
        documents = StoredFiles(chunks={"docs/a.txt": {20: chunk, 345: chunk}})
        result = await grep_over(docs, documents=documents).grep(
            GrepRequest(query="q", terms=("clave", "llave")), principal=ANYONE
        )
        assert spans(result) == [("docs/a.txt", 335, 355)]


class Changing(LocalFileRepository):
    """Something happens to the files after they were searched."""

    folder: Path

    async def search(self, search: LineSearch, *, seconds: float) -> FileMatches:
        matches = await super().search(search, seconds=seconds)
        (self.folder / "gone.txt").unlink()
        (self.folder / "shorter.txt").write_text("x\n")
        (self.folder / "binary.txt").write_bytes(b"\0clave")
        (self.folder / "link.txt").unlink()
        (self.folder / "link.txt").symlink_to(self.folder.parent / "secreto.txt")
        (self.folder / "larger.txt").write_bytes(b"clave\n" * MAX_FILE)
        return matches


class TestDegradation:
    async def test_a_root_that_is_gone_is_said(self, tmp_path: Path) -> None:
        docs, other = write(tmp_path / "docs", {"a.txt": "clave"}), write(tmp_path / "other", {"b.txt": "clave"})
        grep = grep_over(docs, other)
        other.rename(tmp_path / "moved")
        result = await grep.grep(GrepRequest(query="clave"), principal=ANYONE)
        assert (spans(result), result.unavailable) == ([("docs/a.txt", 1, 1)], ("other",))
        docs.rename(tmp_path / "moved too")
        with pytest.raises(SourceUnavailableError) as failed:
            await grep.grep(GrepRequest(query="clave"), principal=ANYONE)
        assert failed.value.reason == "root_unavailable"
        (tmp_path / "moved").rename(other)
        assert spans(await grep.grep(GrepRequest(query="clave"), principal=ANYONE)) == [("other/b.txt", 1, 1)]

    async def test_files_that_change_meanwhile_are_left_out_and_counted(self, tmp_path: Path) -> None:
        names = ["gone.txt", "shorter.txt", "binary.txt", "link.txt", "larger.txt", "a.txt"]
        docs = write(tmp_path / "docs", dict.fromkeys(names, "nada\nclave\n"))
        write(tmp_path, {"secreto.txt": "nada\nclave secreta\n"})
        repository = repository_over(roots_of(docs))
        repository.__class__ = Changing
        repository.folder = docs  # type: ignore[attr-defined]
        result = await grep_over(repository=repository).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert spans(result) == [("docs/a.txt", 1, 2)]
        assert (result.files, result.matched_lines) == (1, 1)
        assert result.skipped == SkippedFiles(binary=1, too_large=1, refused=3)

    async def test_a_search_that_is_late_gives_what_it_has(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "b.txt": "clave"})

        class Slow(LocalFileRepository):
            async def read_passages(
                self, path: str, spans: Sequence[tuple[int, int]], *, kept: Sequence[int] | None = None
            ) -> list[FileText]:
                if path == "docs/b.txt":
                    await asyncio.Event().wait()
                return await super().read_passages(path, spans, kept=kept)

        repository = repository_over(roots_of(docs))
        repository.__class__ = Slow
        result = await grep_over(repository=repository, seconds=2.0).grep(GrepRequest(query="clave"), principal=ANYONE)
        assert result.timed_out
        assert spans(result) == [("docs/a.txt", 1, 1)]
        assert result.files == 2

    async def test_no_time_at_all_is_no_error(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave"})
        result = await grep_over(docs, seconds=0.0).grep(GrepRequest(query="clave x"), principal=ANYONE)
        assert result.timed_out
        assert result.passages == ()
