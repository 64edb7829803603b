"""Which files of a tree a search of lines opens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragcorp.domain.exceptions import InvalidInputError, SourceUnavailableError
from ragcorp.domain.files.values import LineSearch, SkippedFiles
from support.files.grep import LONG, MAX_FILE, found, ripgrep_over
from support.files.line_search import LineSearchTests
from support.files.roots import roots_of, write

pytestmark = pytest.mark.anyio


class TestTreeSearch(LineSearchTests):
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
        assert sorted(found(matches)) == ["docs/a.txt", "docs/keep.log", "docs/sub/b.log", "docs/sub/solo-raiz.txt"]
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
        told = not globs
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
        assert matches.skipped == SkippedFiles()
        nothing = await self.search(docs, terms=("no está",))
        assert (nothing.skipped, nothing.searched) == (matches.skipped, matches.searched)

    async def test_leaves_out_names_that_cannot_be_shown(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {"a.txt": "clave", "dos\nlineas.txt": "clave", "nb\u00a0sp.txt": "clave"})
        Path(os.fsdecode(os.fsencode(docs) + b"/mal\xff.txt")).write_text("clave")
        matches = await self.search(docs, terms=("clave",))
        assert sorted(found(matches)) == ["docs/a.txt", "docs/nb\u00a0sp.txt"]
        assert matches.skipped == SkippedFiles()
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
        matches = await ripgrep_over(roots).search(LineSearch(terms=("clave",)), seconds=LONG)
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
        matches = await ripgrep_over(roots).search(LineSearch(terms=("clave",)), seconds=LONG)
        assert (sorted(found(matches)), matches.unavailable) == (["docs/a.txt"], ("linked", "filed"))

    async def test_a_root_from_which_a_file_system_was_taken_is_unavailable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        docs, other = write(tmp_path / "docs", {"a.txt": "clave"}), write(tmp_path / "other", {"b.txt": "clave"})
        roots = roots_of(docs, other)
        monkeypatch.setitem(roots._devices, "other", -1)
        assert (await ripgrep_over(roots).search(LineSearch(terms=("clave",)), seconds=LONG)).unavailable == ()
        (other / "b.txt").unlink()
        assert (await ripgrep_over(roots).search(LineSearch(terms=("clave",)), seconds=LONG)).unavailable == ("other",)
        monkeypatch.undo()
        assert (await ripgrep_over(roots).search(LineSearch(terms=("clave",)), seconds=LONG)).unavailable == ()

    async def test_without_any_root_left_no_search_can_be_run(self, tmp_path: Path) -> None:
        docs = write(tmp_path / "docs", {})
        docs.mkdir()
        roots = roots_of(docs)
        docs.rmdir()
        with pytest.raises(SourceUnavailableError) as failed:
            await ripgrep_over(roots).search(LineSearch(terms=("clave",)), seconds=LONG)
        assert failed.value.reason == "root_unavailable"
        assert str(tmp_path) not in str(failed.value)
