"""One line in the log for a source, or a step, that did not do its part."""

from __future__ import annotations

import logging

from ragcorp.domain.retrieval import SourceOutcome, SourceReport

logger = logging.getLogger(__name__)

FAILURES = frozenset({SourceOutcome.FAILED, SourceOutcome.TIMEOUT, SourceOutcome.INVALID})


def log_outage(report: SourceReport) -> None:
    """Log the report of what failed; what was skipped, or gave less than usual, is no failure."""
    if report.outcome in FAILURES:
        logger.warning(
            "source %s failed",
            report.source,
            extra={
                "fields": {
                    "source": report.source,
                    "outcome": report.outcome.value,
                    "reason": report.reason,
                    "ms": report.elapsed_ms,
                }
            },
        )
