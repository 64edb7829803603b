"""Log lines of commands that serve nobody."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from ragcorp.application.resilience.source_reports import log_outage
from ragcorp.domain.retrieval import SourceOutcome, SourceReport
from ragcorp.main.process.logs import configure_logging


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_tells_why_a_source_failed_and_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info")
    log_outage(SourceReport(source="dense", outcome=SourceOutcome.FAILED, elapsed_ms=3.0, reason="unreachable\nx"))
    (line,) = capsys.readouterr().err.splitlines()
    assert "source dense failed source=dense outcome=failed reason=unreachable\\u000ax ms=3.0" in line
