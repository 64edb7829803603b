"""Dependencies of the terminal UI."""

from dataclasses import dataclass

from ragcorp.domain.principal import Principal
from ragcorp.interface.use_cases import UseCases

AUTO = "auto"
"""The choice of no profile: the search's own defaults."""


@dataclass(slots=True, kw_only=True)
class Choice:
    """The profile chosen last, shared by search and ask."""

    profile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TuiServices:
    """Use cases and choices: ``profile`` is the first of ``profiles``; ``facts`` describe the configuration."""

    use_cases: UseCases
    principal: Principal
    profiles: tuple[str, ...] = (AUTO,)
    profile: str = AUTO
    limit: int = 30
    facts: tuple[str, ...] = ()
