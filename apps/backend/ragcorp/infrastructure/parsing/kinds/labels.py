"""Spanish labels that readers insert into the text, whatever its language."""

import re

PAGE_NUMBER = re.compile(r"(?:p[áa]g(?:ina|\.)?|page)?\s*\d*\s*(?:(?:de|of|/)\s*\d*)?", re.IGNORECASE)
_MOST_NOTE = 250


def comment(author: str, text: str) -> str:
    return f"Comentario de {author}: {text}" if author else f"Comentario: {text}"


def note(text: str) -> str:
    """Return a note as a paragraph; "" for one that ``note_in_text`` puts into its sentence."""
    return f"Nota: {text}" if len(text) > _MOST_NOTE else ""


def note_in_text(text: str) -> str:
    """Return a note as it is put where the text refers to it; "" if it is too long to stand within a sentence."""
    return f" (nota: {text.strip().rstrip('.')})" if 0 < len(text) <= _MOST_NOTE else ""
