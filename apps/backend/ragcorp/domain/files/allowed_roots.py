"""The error for a path that may not be read; it lists the allowed roots."""

from __future__ import annotations

from collections.abc import Sequence

from ragcorp.domain.exceptions import FileAccessDeniedError

OUTSIDE = "The path leads out of the allowed roots, or to what may not be read."
"""One message for everything that must look alike: paths outside, existing or not, and withheld files."""


def denied(roots: Sequence[str], reason: str = OUTSIDE) -> FileAccessDeniedError:
    """Return the error. Its text ends with the ``roots`` by their logical names."""
    if not roots:
        return FileAccessDeniedError("No roots are allowed: set ALLOWED_PATHS.")
    return FileAccessDeniedError(f"{reason} Allowed roots: {', '.join(roots)}.")
