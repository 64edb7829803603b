"""The caller of a use case. A principal comes from the credential, never from the body."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from ragcorp.domain.exceptions import InvalidInputError

WORKSPACE_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")


class Sensitivity(IntEnum):
    """Sensitivity of a document. A reader needs at least the same clearance.

    >>> Sensitivity.parse('normal') < Sensitivity.RESTRICTED
    True
    """

    PUBLIC = 0
    NORMAL = 1
    CONFIDENTIAL = 2
    RESTRICTED = 3

    @classmethod
    def parse(cls, name: str, *, field: str = "sensitivity") -> Sensitivity:
        """Return the level called ``name`` (lower case). Raises InvalidInputError for any other word."""
        for level in cls:
            if level.label == name:
                return level
        raise InvalidInputError(
            f"{field} is not one of the known levels.",
            field=field,
            limit=", ".join(level.label for level in cls),
            remedy="Use one of the listed levels.",
        )

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The caller: a workspace, a subject in it, the subject's groups and the highest sensitivity it may read.

    ``may_read_files`` False hides files below the allowed roots from every search and read.

    >>> Principal(workspace='ventas', groups=frozenset({'jefas'})).clearance.label
    'restricted'
    """

    workspace: str = "default"
    subject: str = "local"
    groups: frozenset[str] = frozenset()
    clearance: Sensitivity = Sensitivity.RESTRICTED
    may_read_files: bool = True

    def __post_init__(self) -> None:
        if not WORKSPACE_PATTERN.fullmatch(self.workspace):
            raise InvalidInputError(
                "workspace must be 1 to 64 lower-case letters, digits, '-' or '_', with a letter or digit at its ends.",
                field="workspace",
                limit="64 characters",
                remedy="Choose a shorter, plain name.",
            )
        if not self.subject or len(self.subject) > 200:
            raise InvalidInputError("subject must have 1 to 200 characters.", field="subject", limit="200 characters")
