"""What a search of lines must find, whether ripgrep or Python runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import InvalidInputError, SourceUnavailableError
from ragcorp.domain.files import FileMatches, GrepCase, LineSearch, Mark, SkippedFiles
from ragcorp.infrastructure.files.opening import Roots
from ragcorp.infrastructure.files.python_search import PythonSearch
from ragcorp.infrastructure.files.ripgrep import Ripgrep
from support.grep import LONG, MAX_FILE, found, python_over, ripgrep_over
from support.roots import roots_of, write

pytestmark = pytest.mark.anyio


class LineSearchConformance:
    """A subclass gives ``engine``. ``opens_all``: it opens files whether or not they hold a match."""

    opens_all = True

    def engine(self, roots: Roots) -> Ripgrep | PythonSearch:
        raise NotImplementedError

    async def search(
        self, *folders: Path, terms: tuple[str, ...], excluded: tuple[Path, ...] = (), **options: object
    ) -> FileMatches:
        engine = self.engine(roots_of(*folders, excluded=excluded))
        return await engine.search(LineSearch(terms=terms, **options), seconds=LONG)  # type: ignore[arg-type]

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
        docs = write(tmp_path / "docs", {"a.txt": text, "b.txt": "el nino y el niño"})
        for term in ("facturacion", "facturación"):
            matches = await self.search(docs, terms=(term,), fold_accents=True, case=GrepCase.INSENSITIVE)
            assert found(matches) == {
                "docs/a.txt": [(1, 0, 11), (2, 0, 11), (3, 0, 12), (4, 0, 11), (5, 0, 11), (6, 0, 11)]
            }
        matches = await self.search(docs, terms=("niño",), fold_accents=True)
        assert found(matches) == {"docs/b.txt": [(1, 3, 7), (1, 13, 17)]}

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

    async def test_hidden_files_and_what_gitignore_excludes_are_left_out(self, tmp_path: Path) -> None:
        docs = write(
            tmp_path / "docs",
            {
                ".gitignore": "build/\n*.log\n!keep.log\n!.env\n/solo-raiz.txt\n",
                ".env": "clave",
                ".oculta/a.txt": "clave",
                "a.txt": "clave",
                "b.log": "clave",
                "keep.log": "clave",
                "build/x.txt": "clave",
                "solo-raiz.txt": "clave",
                "sub/solo-raiz.txt": "clave",
                "sub/.gitignore": "!b.log\nlocal.txt\n",
                "sub/b.log": "clave",
                "sub/local.txt": "clave",
                "otra/.ignore": "nada.txt\n",
                "otra/nada.txt": "clave",
            },
        )
        matches = await self.search(docs, terms=("clave",))
        assert sorted(found(matches)) == [
            "docs/a.txt",
            "docs/keep.log",
            "docs/sub/b.log",
            "docs/sub/solo-raiz.txt",
        ]
        everything = await self.search(docs, terms=("clave",), gitignore=False)
        assert sorted(found(everything)) == [
            "docs/a.txt",
            "docs/b.log",
            "docs/build/x.txt",
            "docs/keep.log",
            "docs/otra/nada.txt",
            "docs/solo-raiz.txt",
            "docs/sub/b.log",
            "docs/sub/local.txt",
            "docs/sub/solo-raiz.txt",
        ]

    async def test_ignore_files_above_a_root_do_not_count(self, tmp_path: Path) -> None:
        write(tmp_path, {".gitignore": "*.txt\n", "docs/a.txt": "clave"})
        assert sorted(found(await self.search(tmp_path / "docs", terms=("clave",)))) == ["docs/a.txt"]

    @pytest.mark.parametrize(
        ("globs", "files"),
        [
            (("*.md",), ["a.md", "notas/b.md", "notas/hondo/c.md"]),
            (("/*.md",), ["a.md"]),
            (("notas/",), ["notas/b.md", "notas/hondo/c.md", "notas/d.txt"]),
            (("notas/*.md",), ["notas/b.md"]),
            (("**/hondo/**",), ["notas/hondo/c.md"]),
            (("./notas/*.txt",), ["notas/d.txt"]),
            (("!*.md",), ["notas/d.txt", "x{1,2}.py"]),
            (("!hondo/", "*.md"), ["a.md", "notas/b.md"]),
            (("*.{md,txt}",), []),
            (("x{1,2}.py",), ["x{1,2}.py"]),
            (("*.log", ".*"), []),
        ],
    )
    async def test_globs_select_and_never_bring_back_what_is_ignored(
        self, tmp_path: Path, globs: tuple[str, ...], files: list[str]
    ) -> None:
        names = ["a.md", "notas/b.md", "notas/hondo/c.md", "notas/d.txt", "x{1,2}.py", "b.log", ".oculto.md", ".h/e.md"]
        docs = write(tmp_path / "docs", {".gitignore": "*.log\n", **dict.fromkeys(names, "clave")})
        matches = await self.search(docs, terms=("clave",), globs=globs)
        assert sorted(found(matches)) == [f"docs/{name}" for name in sorted(files)]
        assert matches.searched == len(files)

    @pytest.mark.parametrize("glob", ["!", "a[", "#x", "ends\\", "  ", "!!a"])
    async def test_refuses_what_is_no_glob(self, tmp_path: Path, glob: str) -> None:
        with pytest.raises(InvalidInputError) as refused:
            await self.search(write(tmp_path / "docs", {"a.txt": "x"}), terms=("x",), globs=(glob,))
        assert refused.value.field == "globs"
        assert refused.value.remedy

    @pytest.mark.parametrize("globs", [(), ("*",)])
    async def test_counts_what_is_too_large_or_binary(self, tmp_path: Path, globs: tuple[str, ...]) -> None:
        docs = write(
            tmp_path / "docs",
            {
                "a.txt": "clave",
                "grande.txt": b"clave\n" * (MAX_FILE // 6 + 1),
                "justo.txt": b"x" * MAX_FILE,
                "binario.bin": b"clave\n" + b"x" * 200_000 + b"\n\0",
                ".oculto": b"x" * (MAX_FILE + 1),
            },
        )
        matches = await self.search(docs, terms=("clave",), globs=globs)
        assert found(matches) == {"docs/a.txt": [(1, 0, 5)]}
        told = self.opens_all or not globs
        assert matches.skipped == SkippedFiles(binary=int(told), too_large=1)
        assert matches.searched == 3 - told
        nothing = await self.search(docs, terms=("no está",), globs=globs)
        assert (nothing.skipped, nothing.searched) == (matches.skipped, matches.searched)

    async def test_links_are_not_followed_and_hard_links_are_refused(self, tmp_path: Path) -> None:
        write(tmp_path, {"fuera/s.txt": "clave", "docs/a.txt": "clave"})
        docs = tmp_path / "docs"
        (docs / "enlace.txt").symlink_to(tmp_path / "fuera/s.txt")
        (docs / "carpeta").symlink_to(tmp_path / "fuera")
        (docs / "duro.txt").hardlink_to(tmp_path / "fuera/s.txt")
        os.mkfifo(docs / "tubo")
        matches = await self.search(docs, terms=("clave",))
        assert sorted(found(matches)) == ["docs/a.txt"]
        assert matches.skipped == SkippedFiles(refused=int(self.opens_all))
        nothing = await self.search(docs, terms=("no está",))
        assert (nothing.skipped, nothing.searched) == (matches.skipped, matches.searched)

    async def test_leaves_out_names_that_cannot_be_shown(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "dos\nlineas.txt": "clave", "nb\u00a0sp.txt": "clave"})
        Path(os.fsdecode(os.fsencode(docs) + b"/mal\xff.txt")).write_text("clave")
        matches = await self.search(docs, terms=("clave",))
        assert sorted(found(matches)) == ["docs/a.txt", "docs/nb\u00a0sp.txt"]
        assert matches.skipped == SkippedFiles(refused=2 * self.opens_all)
        nothing = await self.search(docs, terms=("no está",))
        assert (nothing.skipped, nothing.searched) == (matches.skipped, matches.searched)

    async def test_what_a_search_looks_for_does_not_change_what_is_counted(self, tmp_path: Path) -> None:
        docs = write(
            tmp_path / "docs",
            {
                "zero.pdf": b"clave\n" + b"x" * 200_000 + b"\n\0",
                "controls.bin": b"clave\n" + b"\x01\x02" * 5_000,
                "broken.txt": b"\xef\xbb\xbfclave \xf1\xf3\n",
                "wide.txt": "clave\n".encode("utf-32"),
                "a.txt": "clave",
            },
        )
        counted = set()
        for term in ("clave", "no está"):
            for globs in ((), ("*",)):
                matches = await self.search(docs, terms=(term,), globs=globs)
                counted.add((bool(globs), matches.skipped, matches.searched))
        assert len(counted) == 2

    async def test_utf_32_is_binary_to_a_search(self, tmp_path: Path) -> None:
        text = "clave\n"
        docs = write(
            tmp_path / "docs", {"le.txt": text.encode("utf-32"), "be.txt": b"\0\0\xfe\xff" + text.encode("utf-32-be")}
        )
        matches = await self.search(docs, terms=("clave",))
        assert (found(matches), matches.skipped) == ({}, SkippedFiles(binary=2))

    @pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
    async def test_ignore_files_that_are_no_plain_files_say_nothing(self, tmp_path: Path, name: str) -> None:
        """A link would tell which lines its target holds; a pipe has no end, nor has /dev/zero."""
        write(tmp_path, {"lines": "alfa.txt\n"})
        for folder, target in (("linked", tmp_path / "lines"), ("endless", Path("/dev/zero")), ("piped", None)):
            docs = write(tmp_path / folder, {"alfa.txt": "clave", "sub/alfa.txt": "clave"})
            for place in (docs / name, docs / "sub" / name):
                os.mkfifo(place) if target is None else place.symlink_to(target)
            assert sorted(found(await self.search(docs, terms=("clave",)))) == [
                f"{folder}/alfa.txt", f"{folder}/sub/alfa.txt",
            ]  # fmt: skip

    async def test_braces_are_letters_in_ignore_files(self, tmp_path: Path) -> None:
        docs = write(
            tmp_path / "docs",
            {
                ".gitignore": "*.{md,py}\n\\{x}.txt\n",
                **dict.fromkeys(["a.md", "b.py", "c.{md,py}", "{x}.txt"], "clave"),
            },
        )
        assert sorted(found(await self.search(docs, terms=("clave",)))) == ["docs/a.md", "docs/b.py"]

    async def test_bombs_in_names_rules_and_globs_cost_nothing(self, tmp_path: Path) -> None:
        """In a backtracking engine each of them takes 2**50 steps and more, and holds every thread meanwhile."""
        stars = "*?" * 12 + "X"
        name = f"{'a' * 60}/{'b' * 60}.md"
        docs = write(tmp_path / "docs", {name: "clave", ".gitignore": f"{stars}\n/{stars}/{stars}\n{'*?' * 490}\n"})
        for globs in ((), (f"!{stars}/{stars}",), (f"!{'*a' * 90}X",), ("*", f"!{stars}")):
            matches = await self.search(docs, terms=("clave",), globs=globs)
            assert sorted(found(matches)) == [f"docs/{name}"]
        assert found(await self.search(docs, terms=("clave",), globs=(stars,))) == {}

    async def test_a_rule_too_many_for_ripgrep_still_decides(self, tmp_path: Path) -> None:
        docs = write(
            tmp_path / "docs",
            {
                ".gitignore": "\n".join(
                    [f"no-{number}.txt" for number in range(3_000)] + ["secreto/", "*.log", "!ok.log"]
                ),
                "sub/.gitignore": f"{'*?' * 400}\n!b.log\n",
                **dict.fromkeys(
                    ["a.txt", "no-7.txt", "secreto/a.txt", "a.log", "ok.log", "sub/a.log", "sub/b.log"], "clave"
                ),
            },
        )
        assert sorted(found(await self.search(docs, terms=("clave",)))) == [
            "docs/a.txt", "docs/ok.log", "docs/sub/b.log",
        ]  # fmt: skip

    async def test_a_rule_brings_back_neither_hidden_files_nor_excluded_folders(self, tmp_path: Path) -> None:
        docs = write(
            tmp_path / "docs",
            {".gitignore": "*.txt\n!*\n!/data/**\n", ".env": "clave", "data/x.txt": "clave", "a.txt": "clave"},
        )
        matches = await self.search(docs, terms=("clave",), excluded=(docs / "data",))
        assert (sorted(found(matches)), matches.searched) == (["docs/a.txt"], 1)

    async def test_never_enters_an_excluded_folder(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "da[t]a/secret": "clave", "data/x.txt": "clave"})
        matches = await self.search(docs, terms=("clave",), excluded=(docs / "da[t]a",))
        assert sorted(found(matches)) == ["docs/a.txt", "docs/data/x.txt"]
        assert matches.skipped == SkippedFiles()
        nothing = await self.search(docs, terms=("clave",), excluded=(tmp_path,))
        assert found(nothing) == {}

    async def test_searches_several_roots_and_one_that_is_gone(self, tmp_path: Path) -> None:
        uno = write(tmp_path / "uno", {"igual.txt": "clave", "z.txt": "clave"})
        dos = write(tmp_path / "dos", {"igual.txt": "clave", "a.txt": "clave"})
        gone = write(tmp_path / "gone", {"x.txt": "clave"})
        roots = roots_of(uno, dos, gone)
        (gone / "x.txt").unlink()
        gone.rmdir()
        matches = await self.engine(roots).search(LineSearch(terms=("clave",)), seconds=LONG)
        assert matches.unavailable == ("gone",)
        assert [(file.path, file.names) for file in matches.files] == [
            ("uno/igual.txt", ("uno/igual.txt", "igual.txt")),
            ("uno/z.txt", ("uno/z.txt", "z.txt")),
            ("dos/a.txt", ("dos/a.txt", "a.txt")),
            ("dos/igual.txt", ("dos/igual.txt",)),
        ]

    async def test_a_root_whose_place_a_link_or_a_file_has_taken_is_unavailable(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave"})
        folders = [write(tmp_path / name, {"b.txt": "clave"}) for name in ("linked", "filed")]
        roots = roots_of(docs, *folders)
        for folder in folders:
            folder.rename(folder.with_suffix(".old"))
        folders[0].symlink_to(folders[0].with_suffix(".old"))
        folders[1].write_text("clave")
        matches = await self.engine(roots).search(LineSearch(terms=("clave",)), seconds=LONG)
        assert (sorted(found(matches)), matches.unavailable) == (["docs/a.txt"], ("linked", "filed"))

    async def test_a_root_from_which_a_file_system_was_taken_is_unavailable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        docs, other = write(tmp_path / "docs", {"a.txt": "clave"}), write(tmp_path / "other", {"b.txt": "clave"})
        roots = roots_of(docs, other)
        monkeypatch.setitem(roots._devices, "other", -1)
        assert (await self.engine(roots).search(LineSearch(terms=("clave",)), seconds=LONG)).unavailable == ()
        (other / "b.txt").unlink()
        assert (await self.engine(roots).search(LineSearch(terms=("clave",)), seconds=LONG)).unavailable == ("other",)
        monkeypatch.undo()
        assert (await self.engine(roots).search(LineSearch(terms=("clave",)), seconds=LONG)).unavailable == ()

    async def test_without_any_root_left_no_search_can_be_run(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {})
        docs.mkdir()
        roots = roots_of(docs)
        docs.rmdir()
        with pytest.raises(SourceUnavailableError) as failed:
            await self.engine(roots).search(LineSearch(terms=("clave",)), seconds=LONG)
        assert failed.value.reason == "root_unavailable"
        assert str(tmp_path) not in str(failed.value)

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


class TestRipgrep(LineSearchConformance):
    opens_all = False

    def engine(self, roots: Roots) -> Ripgrep:
        return ripgrep_over(roots)


class TestPython(LineSearchConformance):
    def engine(self, roots: Roots) -> PythonSearch:
        return python_over(roots)
