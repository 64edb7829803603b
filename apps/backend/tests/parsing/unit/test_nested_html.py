"""HTML that is nested deeper than the converter reads."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing.parser import MultiFormatParser


def test_html_that_is_nested_too_deeply_says_so() -> None:
    def text(depth: int) -> str:
        content = b"<div>" * depth + b"hola"
        return MultiFormatParser().parse(SourceFile(content=content, media_type="text/html", filename="")).text

    assert text(63).strip() == "hola"
    with pytest.raises(UnreadableDocumentError, match="nested too deeply") as caught:
        text(64)
    assert caught.value.limit == "63 levels"
