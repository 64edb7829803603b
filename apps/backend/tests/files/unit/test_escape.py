"""No way out of the roots: what a path may be made of, what a file may be, and 100,000 paths made up at random."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcorp.domain.exceptions import FileAccessError, InvalidInputError
from ragcorp.domain.files.values import MAX_PATH
from ragcorp.infrastructure.files import root_folder
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.roots import parse_roots
from ragcorp.infrastructure.files.safe_open import Roots
from support.files.roots import CANARY, dangerous_tree, open_descriptors, reader_of, roots_of, said, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return dangerous_tree(tmp_path)


@pytest.fixture
def reader(root: Path) -> FileReader:
    return reader_of(roots_of(root))


OUTSIDE = (
    "[ERROR: ACCESS_DENIED] The path leads out of the allowed roots, or to what may not be read. Allowed roots: docs."
)


# paths


@pytest.mark.parametrize(
    "path",
    [
        "../secreto.txt",
        "../missing.txt",
        "../docs-secret/s.txt",
        "..",
        "docs/..",
        "docs/../../secreto.txt",
        "docs/../plain.txt",
        "sub/../plain.txt",
        "missing/../plain.txt",
        "sub/deep/../../../secreto.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "/missing",
        "plain.txt\0",
        "plain.txt\0.md",
        "\0",
    ],
)
def test_what_leads_out_has_one_text_whether_anything_is_there_or_not(reader: FileReader, path: str) -> None:
    assert said(reader, path) == OUTSIDE


def test_even_the_absolute_path_of_a_file_below_the_root_is_denied(reader: FileReader, root: Path) -> None:
    assert said(reader, str(root / "plain.txt")) == OUTSIDE


@pytest.mark.parametrize(
    "path",
    [
        "~/secreto.txt",
        "~root/x",
        "$HOME/x",
        "file:///etc/passwd",
        "file://plain.txt",
        "docs:plain.txt",
        "C:\\plain.txt",
        "\\etc\\passwd",
        "..\\secreto.txt",
        "sub\\a.txt",
        "%2e%2e/secreto.txt",
        "..%2fsecreto.txt",
        "plain%2etxt",
        "plain.txt%00",
        "plain.txt ",
        " plain.txt",
        "plain.txt.",
        "plain.txt::$DATA",
        "....//secreto.txt",
        ". ./secreto.txt",
        "\u2024\u2024/secreto.txt",
        "\uff0e\uff0e/secreto.txt",
        "..\u2215secreto.txt",
        "PLAIN.TXT",
        "docs\u200b/plain.txt",
        "proc/self/environ",
        "proc/self/root/etc/passwd",
        "-rf",
        "*",
        "plain.tx?",
        "a/" * 499,
        "n" * 300,
        "n" * MAX_PATH,
        "ñ" * 200,
    ],
)
def test_a_name_is_nothing_but_a_name(reader: FileReader, path: str) -> None:
    assert said(reader, path).startswith("[ERROR: NOT_FOUND]")


def test_odd_names_are_read_as_they_are(reader: FileReader) -> None:
    assert said(reader, "...") == "three dots"
    assert said(reader, "back\\slash.txt") == "inside backslash"
    assert said(reader, "sub/..\\secreto.txt") == "inside trick"


# links, folders and special files


@pytest.mark.parametrize(
    "path",
    [
        "link",
        "relative-link",
        "own-link",
        "own-folder-link",
        "own-folder-link/a.txt",
        "own-folder-link/missing",
        "folder-link",
        "folder-link/s.txt",
        "folder-link/missing",
        "up-link/secreto.txt",
        "up-link/docs/plain.txt",
        "dangling",
        "dangling/x",
        "loop",
        "loop/x",
        "proc-link",
    ],
)
def test_no_link_is_followed_wherever_it_leads(reader: FileReader, path: str) -> None:
    for name in (path, f"docs/{path}"):
        assert said(reader, name) == ("[ERROR: ACCESS_DENIED] Symbolic links are not followed. Allowed roots: docs.")


@pytest.mark.parametrize("path", [".", "./", "docs", "docs/", "docs/.", "sub", "sub/deep", "fifo", "socket"])
def test_folders_and_special_files_are_no_files(reader: FileReader, path: str) -> None:
    assert said(reader, path) == (
        "[ERROR: ACCESS_DENIED] It is a folder or a special file, not a plain file. Allowed roots: docs."
    )


@pytest.mark.parametrize("path", ["fifo/x", "socket/x", "plain.txt/x"])
def test_what_is_no_folder_holds_nothing(reader: FileReader, path: str) -> None:
    assert said(reader, path).startswith("[ERROR: NOT_FOUND]")


def test_a_fifo_that_somebody_writes_to_is_not_opened(reader: FileReader, root: Path) -> None:
    with subprocess.Popen(
        ["sh", "-c", "exec 3<>fifo; echo ready; read forever"], cwd=root, stdin=-1, stdout=-1
    ) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            assert said(reader, "fifo").startswith("[ERROR: ACCESS_DENIED]")
        finally:
            writer.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
@pytest.mark.parametrize("hard_links", [False, True])
def test_a_device_file_is_not_opened(root: Path, hard_links: bool) -> None:
    try:
        os.mknod(root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container makes no device files")
    assert said(reader_of(roots_of(root, hard_links=hard_links)), "zero").startswith("[ERROR: ACCESS_DENIED] It is a")


def test_hard_links_are_read_only_where_that_is_allowed(root: Path, reader: FileReader) -> None:
    assert said(reader, "hard-link") == (
        "[ERROR: ACCESS_DENIED] The file has further hard links, which FILES_HARD_LINKS does not allow. "
        "Allowed roots: docs."
    )
    assert said(reader_of(roots_of(root, hard_links=True)), "hard-link") == CANARY
    (root / "second").hardlink_to(root / "sub/a.txt")
    assert said(reader, "sub/a.txt").startswith("[ERROR: ACCESS_DENIED]")
    (root / "second").unlink()
    assert said(reader, "sub/a.txt") == "inside a"


def test_what_the_system_forbids_is_denied() -> None:
    with TemporaryDirectory() as above:  # not below pytest's tmp_path, which other users cannot enter
        Path(above).chmod(0o755)
        folder = write(Path(above) / "docs", {"closed/a.txt": CANARY, "mine.txt": CANARY, "open.txt": "open"})
        reader = reader_of(roots_of(folder))
        for path in (folder / "mine.txt", folder / "closed"):
            path.chmod(0)
        user = os.geteuid()
        os.seteuid(user or 65_534)
        try:
            answers = [said(reader, path) for path in ("open.txt", "mine.txt", "closed/a.txt", "closed/missing")]
        finally:
            os.seteuid(user)
            (folder / "closed").chmod(0o700)
    denied = "[ERROR: ACCESS_DENIED] The system does not let the service read it. Allowed roots: docs."
    assert answers == ["open", denied, denied, denied]


def test_a_name_has_one_spelling_even_where_the_file_system_ignores_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write(tmp_path / "docs", {"Acta.md": "hola"})
    (docs / "aCTA.MD").hardlink_to(docs / "Acta.md")
    reader = reader_of(roots_of(docs, hard_links=True))
    assert [said(reader, path) for path in ("Acta.md", "aCTA.MD")] == ["hola", "hola"]
    monkeypatch.setattr(
        root_folder, "_listed", lambda folder: ["Acta.md"]
    )  # what a folder that ignores case would list
    assert said(reader, "Acta.md") == "hola"
    assert said(reader, "aCTA.MD").startswith("[ERROR: NOT_FOUND]")


# excluded folders, and what tells of the process itself


@pytest.mark.parametrize(
    ("root", "excluded", "path"),
    [
        ("docs", "docs/.ragcorp", ".ragcorp/credentials.json"),
        ("docs", "docs/.ragcorp", ".ragcorp/cluster/base/1"),
        ("docs", "docs/.ragcorp", ".ragcorp/missing"),
        ("docs/.ragcorp", "docs/.ragcorp", "credentials.json"),
        ("docs/.ragcorp/cluster", "docs/.ragcorp", "base/1"),
        ("docs/.ragcorp/cluster", "docs/.ragcorp", "missing"),
        ("docs", "link-to-data", ".ragcorp/credentials.json"),
        ("docs", "docs/moved", "moved/credentials.json"),
    ],
)
def test_the_data_folder_is_never_entered(tmp_path: Path, root: str, excluded: str, path: str) -> None:
    write(tmp_path / "docs/.ragcorp", {"credentials.json": CANARY, "cluster/base/1": CANARY})
    (tmp_path / "link-to-data").symlink_to("docs/.ragcorp")
    reader = reader_of(roots_of(tmp_path / root, excluded=[tmp_path / excluded]))
    if "moved" in excluded:  # it may be made, or moved, long after the start
        (tmp_path / "docs/.ragcorp").rename(tmp_path / excluded)
    name = Path(root).name
    for asked in (path, f"{name}/{path}", f"./{name}//{path}"):
        assert said(reader, asked) == OUTSIDE.replace(": docs.", f": {name}.")


def test_a_relative_excluded_folder_is_that_of_the_start(tmp_path: Path) -> None:
    write(tmp_path, {"docs/.ragcorp/x": CANARY, "docs/a.md": "a"})
    with chdir(tmp_path / "docs"):
        reader = reader_of(roots_of(tmp_path / "docs", excluded=[Path(".ragcorp")]))
    assert said(reader, "docs/.ragcorp/x") == OUTSIDE


def test_neighbours_of_an_excluded_folder_are_read(tmp_path: Path) -> None:
    write(tmp_path / "docs", {".ragcorp/x": CANARY, ".ragcorp2/x": "neighbour"})
    assert (
        said(reader_of(roots_of(tmp_path / "docs", excluded=[tmp_path / "docs/.ragcorp"])), ".ragcorp2/x")
        == "neighbour"
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("path", ["proc/self/environ", "proc/PID/environ", "proc/version", "sys/kernel/x"])
def test_where_the_whole_disk_is_a_root_the_system_s_own_files_are_not_in_it(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"a.txt": "hola"})
    reader = reader_of(Roots(parse_roots("disk=/")))
    assert said(reader, f"disk{os.path.realpath(tmp_path)}/a.txt") == "hola"
    path = path.replace("PID", str(os.getpid()))
    assert said(reader, f"disk/{path}") == OUTSIDE.replace(": docs.", ": disk.")


# at random

_HIDDEN = {"secreto.txt": CANARY, "docs-secret/s.txt": CANARY}
_COMPONENTS = [
    "docs", "sub", "deep", "a.txt", "b.txt", "plain.txt", "léeme.md", "le\u0301eme.md", "...", "back\\slash.txt",
    "link", "relative-link", "folder-link", "up-link", "own-link", "own-folder-link", "dangling", "loop", "proc-link",
    "hard-link", "fifo", "socket", "secreto.txt", "docs-secret", "s.txt", "..", "..", ".", "", "\0", "~", "..\\",
    "%2e%2e", "\uff0e\uff0e", "\u2025", "\u2215", "proc", "self", "environ", "etc", "passwd", "file:",
    "\udcff", "\u202e",
]  # fmt: skip

component = st.one_of(st.sampled_from(_COMPONENTS), st.sampled_from(_COMPONENTS), st.text(max_size=6))


def paths(folder: Path) -> st.SearchStrategy[str]:
    starts = st.sampled_from(["", "", "", "/", "//", "./", f"{folder}/", f"{folder}/docs/", "docs/../", "file://"])
    wild = st.builds(
        lambda start, components, end: start + "/".join(components) + end,
        starts,
        st.lists(component, max_size=8),
        st.sampled_from(["", "", "", "/", "/.", "/..", "\0", " "]),
    )
    tame = st.sampled_from(
        ["sub/a.txt", "docs/sub/deep/b.txt", "sub/..\\secreto.txt", "./plain.txt", "docs/back\\slash.txt"]
    )
    return st.one_of(wild, wild, wild, tame, st.builds(os.path.join, tame, wild), st.builds(os.path.join, wild, tame))


@pytest.mark.parametrize("examples", [2000, pytest.param(100_000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_no_path_reads_outside_the_roots(root: Path, tmp_path: Path, examples: int) -> None:
    reader = reader_of(roots_of(root))
    inside = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1
    }
    assert (root / "link").read_text() == CANARY
    before = open_descriptors()
    read: set[str] = set()

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(paths(tmp_path))
    def holds(path: str) -> None:
        try:
            text = reader.read(path)
        except FileAccessError as error:
            assert str(tmp_path) not in str(error)
            return
        except InvalidInputError:
            return
        assert ".." not in path.split("/")
        assert text.text == inside[text.path.removeprefix("docs/")]
        read.add(text.path)

    holds()
    assert len(read) >= 4, "the paths are too wild to mean anything"
    assert open_descriptors() == before


# the nasty inputs


@pytest.mark.parametrize(("line", "prepared"), [("N62", None), ("N63", "/etc/passwd"), ("N63", "docs-secret")])
def test_nasty_inputs(eval_dir: Path, tmp_path: Path, line: str, prepared: str | None) -> None:
    lines = map(json.loads, (eval_dir / "nasty_inputs.jsonl").read_text("utf-8").splitlines())
    [given] = [item for item in lines if item["id"] == line]
    write(tmp_path, {"docs-secret/s.txt": CANARY, "docs/a.md": "hola"})
    path = given["input"]["path"]
    if prepared:
        (tmp_path / "docs" / path).symlink_to(prepared if prepared.startswith("/") else tmp_path / prepared)
    reader = reader_of(roots_of(tmp_path / "docs"))
    asked = [path, f"docs/{path}", *([f"{path}/s.txt"] if prepared else [])]
    answers = [said(reader, item) for item in asked]
    assert all(answer.startswith("[ERROR: ACCESS_DENIED]") for answer in answers), given["expect"]
    if prepared is None:
        (tmp_path / "docs-secret/s.txt").unlink()
        assert [said(reader, item) for item in asked] == answers
