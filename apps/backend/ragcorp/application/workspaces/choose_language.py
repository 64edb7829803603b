"""Use case: choose the language in which a workspace's queries are read first."""

import re
from dataclasses import dataclass

from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.ports.text import QueryLanguages
from ragcorp.domain.principal import Principal

LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseLanguage:
    """``default_language`` applies to workspaces that have not chosen one."""

    languages: QueryLanguages
    default_language: str

    async def choose(self, language: str | None, *, principal: Principal) -> tuple[str, ...]:
        """Set the language (None: the setting's), and return the query languages. Raises InvalidInputError."""
        if language is not None and not LANGUAGE_CODE.fullmatch(language):
            raise InvalidInputError(
                "language is not a language code.",
                field="language",
                limit="two or three lower-case letters",
                remedy="Write it as es, en or pt (ISO 639).",
            )
        await self.languages.set_default(principal.workspace, language)
        return await self.current(principal=principal)

    async def current(self, *, principal: Principal) -> tuple[str, ...]:
        """Return the languages of queries, the workspace's own first."""
        return await self.languages.query_languages(principal.workspace, default=self.default_language)
