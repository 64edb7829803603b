"""Port for telling in which language a text is."""

from __future__ import annotations

from typing import Protocol


class LanguageDetector(Protocol):
    """Names the language of a text. Pure and quick."""

    def detect(self, text: str) -> str:
        """Return an ISO 639-1 code; the default language of the content where the text does not tell."""
        ...


class QueryLanguages(Protocol):
    """The languages in which a workspace's queries are read: the chosen one first, then those of its documents."""

    async def query_languages(self, workspace: str, *, default: str) -> tuple[str, ...]: ...

    async def set_default(self, workspace: str, language: str | None) -> None:
        """Choose the first language (ISO 639); None takes the choice back."""
        ...
