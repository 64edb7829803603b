"""Files of a folder that were not ingested, as JSON and in words."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from ragcorp.domain.ports.folders import LeftOutFile, LeftOutReason
from ragcorp.domain.text.checks import visible

SHOWN_NAMES = 10

_REASONS = {
    LeftOutReason.KIND: ("file of a kind that is not supported", "files of kinds that are not supported"),
    LeftOutReason.LOCK_FILE: ("lock file of an open document", "lock files of open documents"),
    LeftOutReason.SYSTEM_FILE: ("file of the operating system", "files of the operating system"),
    LeftOutReason.HIDDEN: ("hidden file or folder", "hidden files and folders"),
    LeftOutReason.EMPTY: ("empty file", "empty files"),
    LeftOutReason.LINK: ("symbolic link", "symbolic links"),
    LeftOutReason.SPECIAL: ("pipe, socket or device", "pipes, sockets and devices"),
}


def left_out_files(files: Sequence[LeftOutFile]) -> list[dict[str, str]]:
    return [{"path": visible(file.relative), "reason": file.reason.value} for file in files]


def left_out_in_words(files: Sequence[LeftOutFile], *, ignored: int) -> Iterator[str]:
    """Yield a line for each reason: ``Left out: 2 empty files: a.md, b.md``."""
    by_reason = attrgetter("reason")
    for reason, of_reason in groupby(sorted(files, key=by_reason), key=by_reason):
        names = [visible(file.relative) for file in of_reason]
        more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
        one, several = _REASONS[reason]
        what = one if len(names) == 1 else several
        yield f"Left out: {len(names):,} {what}: {', '.join(names[:SHOWN_NAMES])}{more}"
    if ignored:
        yield f"Left out: {ignored:,} excluded by .gitignore"
