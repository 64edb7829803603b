"""Reports of sources and steps that fail or come late, and their log entries."""

import logging
import time

from ragcorp.domain.exceptions import RagcorpError, SourceUnavailableError
from ragcorp.domain.retrieval import SourceOutcome, SourceReport

logger = logging.getLogger(__name__)

FAILURES = frozenset({SourceOutcome.FAILED, SourceOutcome.TIMEOUT, SourceOutcome.INVALID})


def failure_report(source: str, error: RagcorpError | TimeoutError, started: float) -> SourceReport:
    """Return the report of a failure; ``started`` is a value of ``time.perf_counter()``."""
    outcome = SourceOutcome.TIMEOUT if isinstance(error, TimeoutError) else SourceOutcome.FAILED
    return SourceReport(source=source, outcome=outcome, elapsed_ms=elapsed_ms(started), reason=reason_of(error))


def logged_failure(source: str, error: RagcorpError | TimeoutError, started: float) -> SourceReport:
    report = failure_report(source, error, started)
    log_outage(report)
    return report


def reason_of(error: RagcorpError | TimeoutError) -> str:
    """Return the short stable word for an error in ``degraded``."""
    if isinstance(error, TimeoutError):
        return "timeout"
    return error.reason if isinstance(error, SourceUnavailableError) else error.code


def elapsed_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def log_outage(report: SourceReport) -> None:
    """Log a failure; skipped sources and incomplete answers are not failures."""
    if report.outcome in FAILURES:
        fields = {
            "source": report.source,
            "outcome": report.outcome.value,
            "reason": report.reason,
            "ms": report.elapsed_ms,
        }
        logger.warning("source %s failed", report.source, extra={"fields": fields})
