"""A fault of an extractor costs no document."""

from __future__ import annotations

import logging

import pytest

from ragcorp.application.documents.reading import DocumentReader
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.structure.entities import DocumentStructure
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.parser import MultiFormatParser


class Extractor:
    fingerprint = "structure-9"

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def extract(self, parsed: ParsedText, *, path: str) -> DocumentStructure:
        if self._error is not None:
            raise self._error
        return DocumentStructure(fingerprint=f"{parsed.text}|{path}")


def extracted(extractor: Extractor) -> DocumentStructure:
    reader = DocumentReader(parser=MultiFormatParser(), chunker=StructureChunker(), structure=extractor)
    return reader.extract(ParsedText(text="x"), "a.go", "a.go")


def test_what_an_extractor_finds_is_given_on() -> None:
    result = extracted(Extractor())
    assert result.fingerprint == "x|a.go"


def test_a_document_whose_extraction_fails_has_no_entities_and_is_not_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        result = extracted(Extractor(RecursionError("too deep")))
    assert result == DocumentStructure(fingerprint="structure-9", path="a.go")
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "a.go" not in record.getMessage()
