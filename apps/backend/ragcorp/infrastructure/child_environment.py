"""What a program that we start gets of our environment: no secret, and nothing that is not named here."""

import os
from collections.abc import Collection

PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
     "LOCPATH"}
)  # fmt: skip
LOCALE = "LC_"


def child_environment(*, also: Collection[str] = ()) -> dict[str, str]:
    """Return the variables of ours that a child gets; ``also`` names more of them."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(LOCALE) or name in also
    }
