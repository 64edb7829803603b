"""Keeps what a model is said to have used."""

from __future__ import annotations


class Counted:
    """The port TokenObserver."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        self.calls.append((prompt, completion))
