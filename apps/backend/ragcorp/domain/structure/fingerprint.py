"""Fingerprints of extractors, and whether entities of one replace those of another."""

import re
from dataclasses import dataclass
from typing import Self

_ALGORITHM = re.compile(r"(.*)-(\d{1,9})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureFingerprint:
    """``structure-1:o200k_base:go,python``: an algorithm and its version, a tokenizer, the grammars that were there."""

    algorithm: str
    version: int
    tokenizer: str
    grammars: frozenset[str]

    @classmethod
    def read(cls, fingerprint: str) -> Self:
        """Parse any text; a missing version is 0, other missing parts are empty."""
        algorithm, _, rest = fingerprint.partition(":")
        tokenizer, _, grammars = rest.partition(":")
        versioned = _ALGORITHM.fullmatch(algorithm)
        return cls(
            algorithm=versioned[1] if versioned else algorithm,
            version=int(versioned[2]) if versioned else 0,
            tokenizer=tokenizer,
            grammars=frozenset(filter(None, grammars.split(","))),
        )

    def replaces(self, stored: Self, *, has_symbols: bool) -> bool:
        """Return whether entities of the ``stored`` fingerprint are out of date for an extractor with this one.

        Another algorithm, tokenizer or older version is, unless it has symbols of a grammar that is missing here. An
        equal one is if the grammars here include more. So two services on one database never replace each other's
        entities in turn: versions do not decrease, and within a version the grammars only grow.
        """
        if (self.algorithm, self.version, self.tokenizer) == (stored.algorithm, stored.version, stored.tokenizer):
            return stored.grammars < self.grammars
        if self.algorithm == stored.algorithm and self.version < stored.version:
            return False
        return not has_symbols or stored.grammars <= self.grammars
