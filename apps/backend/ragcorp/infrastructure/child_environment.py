"""The environment of programs that we start: only the variables listed here, and no secret."""

import os
from collections.abc import Collection

PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
     "LOCPATH"}
)  # fmt: skip
LOCALE = "LC_"


def child_environment(*, also: Collection[str] = ()) -> dict[str, str]:
    """Return the variables that a child inherits; ``also`` names more of them."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(LOCALE) or name in also
    }
