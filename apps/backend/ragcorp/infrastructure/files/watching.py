"""The port FolderWatching over the system's notifications (``watchfiles``)."""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import anyio

from ragcorp.domain.exceptions import MissingExtraError, SourceUnavailableError
from ragcorp.domain.ports.folders import TreeChanges, WatchedTree

QUIET_MS: Final = 500
LONGEST_BURST_MS: Final = 5_000
MAX_PATHS: Final = 4_096
"""Of a larger burst the kernel may silently drop some (its queue has 16,384 places)."""


class LocalWatching:
    """Yields a burst once it has been quiet for ``quiet_ms``, and in any case after ``LONGEST_BURST_MS``."""

    def __init__(self, *, quiet_ms: int = QUIET_MS) -> None:
        self._quiet_ms = quiet_ms

    async def changes(self, tree: WatchedTree) -> AsyncGenerator[TreeChanges]:
        try:
            from watchfiles import awatch
        except ImportError as error:
            raise MissingExtraError(feature="Watching a folder", extra="files") from error
        stop = anyio.Event()
        events = awatch(
            tree.root,
            watch_filter=None,
            debounce=LONGEST_BURST_MS,
            step=self._quiet_ms,
            rust_timeout=self._quiet_ms,
            yield_on_timeout=True,
            stop_event=stop,
            recursive=tree.only is None,
            ignore_permission_denied=True,
        )
        try:
            async with aclosing(events):
                async for event in events:
                    yield _changes(tree, {path for _, path in event})
        except (FileNotFoundError, RuntimeError):  # the folder is gone, or the library has lost its thread
            return
        except BaseExceptionGroup as group:
            # so it comes out of the thread; a name that is not UTF-8 costs the library its thread too
            if group.split(RuntimeError)[1] is not None:
                raise
            return
        except OSError as error:
            raise SourceUnavailableError(
                "The system does not watch so many folders.",
                reason="watch_limit",
                remedy="Raise fs.inotify.max_user_watches; until then the folder is compared from time to time.",
            ) from error
        finally:
            stop.set()


def _changes(tree: WatchedTree, changed: set[str]) -> TreeChanges:
    if len(changed) > MAX_PATHS:
        return TreeChanges(everything=True)
    root = str(tree.root)
    paths = set()
    for path in changed:
        relative = "" if path == root else path.removeprefix(root.rstrip(os.sep) + os.sep).replace(os.sep, "/")
        if not relative or relative.rpartition("/")[2] == ".gitignore":
            return TreeChanges(everything=True)
        if tree.only in (None, relative):
            paths.add(relative)
    return TreeChanges(paths=frozenset(paths))
