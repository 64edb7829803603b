"""What search and ask have in common while the UI runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Chosen:
    """The profile that was chosen last."""

    profile: str
