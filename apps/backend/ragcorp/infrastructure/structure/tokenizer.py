"""Counts tokens with the vocabulary ``o200k_base``, which the package carries: no file is fetched."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from splintr import Tokenizer as Vocabulary

if TYPE_CHECKING:
    from splintr import AnyTokenizer

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class SplintrTokenizer:
    """Special tokens in a text (``<|endoftext|>``) count as the text that they are. Safe to share between threads."""

    name = "o200k_base"

    @cached_property
    def _vocabulary(self) -> AnyTokenizer:
        return Vocabulary.from_pretrained(self.name)

    def count(self, text: str) -> int:
        try:
            return len(self._vocabulary.encode_ordinary(text))
        except UnicodeEncodeError:
            return len(self._vocabulary.encode_ordinary(_LONE_SURROGATE.sub("\ufffd", text)))
