"""HTML that is nested deeper than the converter reads."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import SourceFile
from ragcorp.infrastructure.parsing.parser import MultiFormatParser


@pytest.mark.parametrize("depth", [63, 64, 5_000])
def test_html_is_read_at_any_depth(depth: int) -> None:
    content = b"<div>" * depth + b"hola"
    parsed = MultiFormatParser().parse(SourceFile(content=content, media_type="text/html", filename=""))
    assert parsed.text.strip() == "hola"
