"""What a search of lines finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragcorp.domain.files.values import FileMatches, GrepCase, Mark
from support.files.grep import found
from support.files.line_search import LineSearchTests
from support.files.roots import write

pytestmark = pytest.mark.anyio


class TestMatch(LineSearchTests):
    async def test_tells_the_line_and_the_characters_of_each_match(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"año.md": "nada\nel señor y la señora\n", "b/c.txt": "otra cosa"})
        matches = await self.search(docs, terms=("señor",))
        assert found(matches) == {"docs/año.md": [(2, 3, 8), (2, 14, 19)]}
        assert matches.files[0].names == ("docs/año.md", "año.md")
        assert matches.searched == 2
        assert not matches.cut
        assert not matches.timed_out

    async def test_says_which_term_each_match_is_of_and_lets_terms_overlap(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "contrato marco\nmarco"})
        matches = await self.search(docs, terms=("marco", "contrato marco", "trato"))
        assert matches.files[0].marks == (Mark(1, 0, 14, 1), Mark(1, 3, 8, 2), Mark(1, 9, 14, 0), Mark(2, 0, 5, 0))

    async def test_matches_of_one_term_do_not_overlap(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "aaaaa"})
        assert found(await self.search(docs, terms=("aa",))) == {"docs/a.txt": [(1, 0, 2), (1, 2, 4)]}

    async def test_takes_every_character_of_a_literal_as_text(self, tmp_path: Path) -> None:
        text = r"a.b*c[d](e)^f$ {g}|h\i +? #-&~ --x"
        docs = write(tmp_path / "docs", {"a.txt": f"axbbc\n{text}\n"})
        assert found(await self.search(docs, terms=(text,))) == {"docs/a.txt": [(2, 0, len(text))]}
        assert found(await self.search(docs, terms=("--x",))) == {"docs/a.txt": [(2, len(text) - 3, len(text))]}

    @pytest.mark.parametrize(
        ("term", "case", "lines"),
        [
            ("plazo", GrepCase.SMART, [1, 2, 3]),
            ("Plazo", GrepCase.SMART, [2]),
            ("plazo", GrepCase.SENSITIVE, [1]),
            ("PLAZO", GrepCase.INSENSITIVE, [1, 2, 3]),
            ("ÑANDÚ", GrepCase.INSENSITIVE, [4, 5]),
        ],
    )
    async def test_case(self, tmp_path: Path, term: str, case: GrepCase, lines: list[int]) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "plazo\nPlazo\nPLAZO\nñandú\nÑandÚ\n"})
        matches = await self.search(docs, terms=(term,), case=case)
        assert [mark.line for mark in matches.files[0].marks] == lines

    async def test_folds_accents_both_ways_and_in_both_forms(self, tmp_path: Path) -> None:
        text = "facturacion\nfacturación\nfacturacio\u0301n\nFACTURACIÓN\nfacturaçion\nfacturaciön\nfractura\n"
        docs = write(tmp_path / "docs", {"a.txt": text, "b.txt": "el nino, el niño y el nin\u0303o"})
        for term in ("facturacion", "facturación"):
            matches = await self.search(docs, terms=(term,), fold_accents=True, case=GrepCase.INSENSITIVE)
            assert found(matches) == {
                "docs/a.txt": [(1, 0, 11), (2, 0, 11), (3, 0, 12), (4, 0, 11), (5, 0, 11), (6, 0, 11)]
            }
        for term, marks in (("niño", [(1, 12, 16), (1, 22, 27)]), ("nino", [(1, 3, 7)])):
            for case in (GrepCase.SMART, GrepCase.INSENSITIVE):
                matches = await self.search(docs, terms=(term,), fold_accents=True, case=case)
                assert found(matches) == {"docs/b.txt": marks}

    async def test_keeps_accents_where_it_was_not_asked_to_fold_them(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "paso\npasó\npaso\u0301\n"})
        assert found(await self.search(docs, terms=("pasó",))) == {"docs/a.txt": [(2, 0, 4), (3, 0, 5)]}

    async def test_reads_old_and_marked_encodings(self, tmp_path: Path) -> None:
        text = "Línea uno\r\nla facturación del año\r\n"
        docs = write(
            tmp_path / "docs",
            {
                "cp1252.txt": text.encode("cp1252"),
                "utf16le.txt": b"\xff\xfe" + text.encode("utf-16-le"),
                "utf16be.txt": b"\xfe\xff" + text.encode("utf-16-be"),
                "bom.txt": b"\xef\xbb\xbf" + text.encode(),
            },
        )
        every = {f"docs/{name}": [(2, 3, 14)] for name in ("bom.txt", "cp1252.txt", "utf16be.txt", "utf16le.txt")}
        assert found(await self.search(docs, terms=("facturación",))) == every
        first = await self.search(docs, terms=("línea",), case=GrepCase.INSENSITIVE)
        assert found(first) == {path: [(1, 0, 5)] for path in every}

    async def test_marks_are_those_of_the_text_as_it_is_read(self, tmp_path: Path) -> None:
        sound = "ñandú áéíóú " * 40
        docs = write(tmp_path / "docs", {"a.txt": f"{sound}\n".encode() + b"\xf1and\xc3\xba roto: clave\n"})
        matches = await self.search(docs, terms=("clave",))
        # a single bad byte in UTF-8: one character, and ú is one too
        assert found(matches) == {"docs/a.txt": [(2, 12, 17)]}

    async def test_no_byte_of_another_character_is_a_letter_of_latin1(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "caf\u901a es chino"})
        assert "\u901a".encode().startswith("é".encode("cp1252"))
        assert found(await self.search(docs, terms=("café",))) == {}

    async def test_all_files_give_up_lines_before_one_is_left_out(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {f"{number}.txt": "clave\n" * 10 for number in range(10)})
        matches = await self.search(docs, terms=("clave",), max_lines=35)
        # 35, 17, 8, 4 lines of each would be too many; 2 are 20
        assert [[mark.line for mark in file.marks] for file in matches.files] == [[1, 2]] * 10
        assert all(file.cut for file in matches.files)
        assert not matches.cut
        whole = await self.search(docs, terms=("clave",), max_lines=101)
        assert not any(file.cut for file in whole.files)
        assert sum(len(file.marks) for file in whole.files) == 100

    async def test_ends_where_one_line_a_file_is_too_much(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {f"{number}.txt": "clave\n" for number in range(10)})
        matches = await self.search(docs, terms=("clave",), max_lines=4)
        assert matches.cut
        assert sum(len(file.marks) for file in matches.files) == 4

    async def test_a_frequent_word_hides_no_other_file_and_no_other_term(self, tmp_path: Path) -> None:
        long = "palabra\n" * 1_500 + "REQ-7 al final\n"
        docs = write(tmp_path / "docs", {"a.txt": long, "b.txt": long, "c.txt": "palabra\n"})
        matches = await self.search(docs, terms=("palabra",))
        assert [(len(file.marks), file.cut) for file in matches.files] == [(1_000, True), (1_000, True), (1, False)]
        matches = await self.search(docs, terms=("palabra", "REQ-7"))
        assert [(len(file.marks), file.cut) for file in matches.files] == [(1_001, True), (1_001, True), (1, False)]
        assert matches.files[0].marks[-1] == Mark(1_501, 0, 5, 1)

    @pytest.mark.parametrize("fold", [False, True])
    async def test_hyphens_and_quotes_match_those_that_are_printed_for_them(self, tmp_path: Path, fold: bool) -> None:
        text = "REQ-1\nREQ\u20101\nREQ\u20111\nREQ\u20121\nREQ\u20131\nREQ\u22121\nREQ\u20141\nREQ1\n"
        docs = write(
            tmp_path / "docs",
            {
                "a.txt": text,
                "b.txt": "REQ\u20131 l\u2019any \u201cdos\u201d\n".encode("cp1252"),
                "c.txt": 'l\'any "dos"',
            },
        )
        for term in ("REQ-1", "REQ\u20111", "REQ\u20131"):
            matches = await self.search(docs, terms=(term,), fold_accents=fold)
            assert found(matches) == {"docs/a.txt": [(line, 0, 5) for line in range(1, 7)], "docs/b.txt": [(1, 0, 5)]}
        for term in ('l\'any "dos"', "l\u2019any \u201cdos\u201d"):
            matches = await self.search(docs, terms=(term,), fold_accents=fold)
            assert found(matches) == {"docs/b.txt": [(1, 6, 17)], "docs/c.txt": [(1, 0, 11)]}

    async def test_a_line_holds_a_bounded_number_of_marks(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.js": "ab" * 50_000})
        assert len((await self.search(docs, terms=("ab",))).files[0].marks) == 64

    async def test_an_empty_tree_and_no_roots_hold_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "docs").mkdir()
        assert await self.search(tmp_path / "docs", terms=("x",)) == FileMatches(files=(), searched=0)
        assert await self.search(terms=("x",)) == FileMatches(files=(), searched=0)
