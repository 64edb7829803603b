"""Port for telling in which language a text is."""

from __future__ import annotations

from typing import Protocol


class LanguageDetector(Protocol):
    """Names the language of a text. Pure and quick."""

    def detect(self, text: str) -> str:
        """Return an ISO 639-1 code; the default language of the content where the text does not tell."""
        ...
