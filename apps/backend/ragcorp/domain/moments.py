"""Parses times in requests."""

import re
from datetime import datetime

MAX_WRITTEN_TIME = 40

_WRITTEN = re.compile(r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d(?:-?\d)?)(?:[Tt ]\d\d.*)?", re.ASCII)
"""Stricter than datetime.fromisoformat, which accepts any character between date and time."""


def written_moment(text: str) -> datetime:
    """Parse an ISO 8601 date or time, joined by T or a space; naive without a zone. Raises ValueError."""
    if len(text) > MAX_WRITTEN_TIME or not _WRITTEN.fullmatch(text):
        raise ValueError("This is not a date or time in ISO 8601")
    return datetime.fromisoformat(text)
