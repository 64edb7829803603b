"""Asks sources side by side, each under a deadline, and reports what became of each."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragcorp.domain.exceptions import InvalidInputError, InvalidRankingError, SourceUnavailableError
from ragcorp.domain.ports.sources import RetrievalSource, SourceQuery
from ragcorp.domain.retrieval import RankedList, SourceOutcome, SourceReport, SourceResult

logger = logging.getLogger(__name__)


class SourceFanOut:
    """Runs sources in parallel. A slow one is cut off; a failing one is reported; neither disturbs the others."""

    def __init__(self, *, sources: Mapping[str, RetrievalSource], source_timeout_seconds: float) -> None:
        self._sources = dict(sources)
        self._source_timeout_seconds = source_timeout_seconds

    async def ask(self, names: Sequence[str], query: SourceQuery, *, deadline: float) -> list[SourceResult]:
        """Return one result a name, in order. ``deadline`` is on the event loop's clock.

        Raises InvalidInputError if a source finds the query itself at fault.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ask_one(name, query, deadline)) for name in names]
        outcomes = [task.result() for task in tasks]
        for outcome in outcomes:
            if isinstance(outcome, InvalidInputError):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, SourceResult)]

    async def _ask_one(self, name: str, query: SourceQuery, deadline: float) -> SourceResult | InvalidInputError:
        source = self._sources.get(name)
        if source is None:
            return SourceResult(report=_report(name, SourceOutcome.SKIPPED, 0.0, reason="not_configured"))
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + self._source_timeout_seconds)):
                answer = await source.retrieve(query)
            # the name that it is wired under is the one that weights and reports go by
            ranked_list = answer.ranked_list
            if ranked_list.source != name:
                ranked_list = replace(ranked_list, source=name)
        except InvalidInputError as error:
            return error
        except TimeoutError:
            return SourceResult(report=_report(name, SourceOutcome.TIMEOUT, started, reason="timeout"))
        except SourceUnavailableError as error:
            return SourceResult(report=_report(name, SourceOutcome.FAILED, started, reason=error.reason))
        except InvalidRankingError:
            logger.warning("source %s returned an invalid ranking", name, exc_info=True)
            return SourceResult(report=_report(name, SourceOutcome.INVALID, started, reason="invalid"))
        except Exception:  # a source may be the user's own: its bug is its outage, logged and named, never the query's
            logger.exception("source %s raised an unexpected error", name)
            return SourceResult(report=_report(name, SourceOutcome.FAILED, started, reason="error"))
        outcome = SourceOutcome.OK if ranked_list.hits else SourceOutcome.EMPTY
        return SourceResult(
            report=_report(name, outcome, started, reason=answer.incomplete, ranked_list=ranked_list),
            ranked_list=ranked_list,
            seen=answer.seen,
        )


def _report(
    name: str,
    outcome: SourceOutcome,
    started: float,
    *,
    reason: str | None = None,
    ranked_list: RankedList | None = None,
) -> SourceReport:
    elapsed_ms = (time.perf_counter() - started) * 1000 if started else 0.0
    return SourceReport(
        source=name,
        outcome=outcome,
        elapsed_ms=round(elapsed_ms, 3),
        reason=reason,
        hits=len(ranked_list) if ranked_list else 0,
    )
