"""The error of a path that may not be read, with the roots that may."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.domain.exceptions import FileAccessDeniedError

OUTSIDE = "The path leads out of the allowed roots, or to what may not be read."
"""One message for all refusals: outside the roots, existing there or not, and withheld."""


def denied(roots: Sequence[str], reason: str = OUTSIDE) -> FileAccessDeniedError:
    """Return the error. Its text ends with the ``roots`` by their logical names."""
    if not roots:
        return FileAccessDeniedError("No roots are allowed: set ALLOWED_PATHS.")
    return FileAccessDeniedError(f"{reason} Allowed roots: {', '.join(roots)}.")
