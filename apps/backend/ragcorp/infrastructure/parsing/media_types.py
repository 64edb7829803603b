"""The kinds of file that are taken, by file name suffix."""

from __future__ import annotations

from pathlib import PurePosixPath

from ragcorp.domain.exceptions import UnsupportedMediaTypeError

MARKDOWN = "text/markdown"
PLAIN = "text/plain"
HTML = "text/html"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
CSV = "text/csv"
EML = "message/rfc822"

BY_SUFFIX = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN,
    ".text": PLAIN,
    ".log": PLAIN,
    ".html": HTML,
    ".htm": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".xlsx": XLSX,
    ".csv": CSV,
    ".pptx": PPTX,
    ".eml": EML,
}

_ALIASES = {
    "text/x-markdown": MARKDOWN,
    "application/xhtml+xml": HTML,
    "application/x-pdf": PDF,
    "application/csv": CSV,
    **{media_type: media_type for media_type in BY_SUFFIX.values()},
}


def media_type_of(filename: str, declared: str | None) -> str:
    """Return the media type by suffix, else the declared one without its parameters if it is known."""
    by_name = BY_SUFFIX.get(PurePosixPath(filename.replace("\\", "/")).suffix.lower())
    if by_name:
        return by_name
    by_declaration = _ALIASES.get((declared or "").partition(";")[0].strip().lower())
    if by_declaration:
        return by_declaration
    raise UnsupportedMediaTypeError(
        "No parser takes this kind of file.",
        field="filename",
        limit=" ".join(sorted(BY_SUFFIX)),
        remedy=f"Send one of: {', '.join(sorted(BY_SUFFIX))}.",
    )
