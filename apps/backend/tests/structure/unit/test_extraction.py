"""A fault of an extractor costs no document."""

from __future__ import annotations

import logging

import pytest

from ragcorp.application.structure.refresh import extracted
from ragcorp.domain.documents import ParsedText
from ragcorp.domain.structure.entities import DocumentStructure


class Extractor:
    fingerprint = "structure-9"

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def extract(self, parsed: ParsedText, *, path: str, title: str) -> DocumentStructure:
        if self._error is not None:
            raise self._error
        return DocumentStructure(fingerprint=f"{parsed.text}|{path}|{title}")


def test_what_an_extractor_finds_is_given_on() -> None:
    found = extracted(Extractor(), ParsedText(text="x"), path="a.go", title="A")
    assert found.fingerprint == "x|a.go|A"


def test_a_document_whose_extraction_fails_has_no_entities_and_is_not_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        found = extracted(Extractor(RecursionError("too deep")), ParsedText(text="x"), path="a.go", title="A")
    assert found == DocumentStructure(fingerprint="structure-9", path="a.go")
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "a.go" not in record.getMessage()
