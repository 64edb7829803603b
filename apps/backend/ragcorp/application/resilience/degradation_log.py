"""Logs sources and steps that failed."""

import logging

from ragcorp.domain.retrieval import SourceOutcome, SourceReport

logger = logging.getLogger(__name__)

FAILURES = frozenset({SourceOutcome.FAILED, SourceOutcome.TIMEOUT, SourceOutcome.INVALID})


def log_outage(report: SourceReport) -> None:
    """Log a failure; skipped sources and incomplete answers are not failures."""
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
