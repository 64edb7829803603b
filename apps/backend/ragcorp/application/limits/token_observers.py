"""Tells whoever counts the tokens of language models; a library has nobody."""

from __future__ import annotations

from ragcorp.domain.ports.observers import TokenObserver


class TokenObservers:
    """Any number of observers as one. They come after the models are wired, with the interface that counts."""

    def __init__(self) -> None:
        self._observers: list[TokenObserver] = []

    def add(self, observer: TokenObserver) -> None:
        self._observers.append(observer)

    def tokens_used(self, *, prompt: int, completion: int) -> None:
        for observer in self._observers:
            observer.tokens_used(prompt=prompt, completion=completion)
