"""What a fingerprint of entities says, and whose entities give way to whose."""

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
        """Any text is read: where no version stands it is 0, what is missing is empty."""
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
        """Return whether entities of ``stored`` are out of date for whoever has this fingerprint.

        Those of an older version, or of another algorithm or tokenizer, are, unless they are symbols and a grammar that
        may have found them is not here. Those of the same are where every grammar is here and some were not there. So
        two services on one database never take turns: a version does not fall, and within one the grammars only grow.
        """
        if (self.algorithm, self.version, self.tokenizer) == (stored.algorithm, stored.version, stored.tokenizer):
            return stored.grammars < self.grammars
        if self.algorithm == stored.algorithm and self.version < stored.version:
            return False
        return not has_symbols or stored.grammars <= self.grammars
