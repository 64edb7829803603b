"""Use case: choose the language in which a workspace's queries are read first."""

from dataclasses import dataclass

from ragcorp.domain.ports.text import QueryLanguages
from ragcorp.domain.principal import Principal
from ragcorp.domain.text.languages import require_language


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseLanguage:
    """``default_language`` applies to workspaces that have not chosen one."""

    languages: QueryLanguages
    default_language: str

    async def choose(self, language: str | None, *, principal: Principal) -> tuple[str, ...]:
        """Set the language (None: the setting's), and return the query languages. Raises InvalidInputError."""
        if language is not None:
            require_language(language)
        await self.languages.set_default(principal.workspace, language)
        return await self.current(principal=principal)

    async def current(self, *, principal: Principal) -> tuple[str, ...]:
        """Return the languages of queries, the workspace's own first."""
        return await self.languages.query_languages(principal.workspace, default=self.default_language)
