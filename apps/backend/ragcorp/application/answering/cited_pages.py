"""Finds the page of a quotation: a passage that spans several has only its first and last page."""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragcorp.application.resilience.time_bound import run_until
from ragcorp.domain.citations.checks import quoted_at
from ragcorp.domain.documents import Chunk
from ragcorp.domain.exceptions import StorageUnavailableError
from ragcorp.domain.ports.chunks import PagedText, PageSpan, PageTexts
from ragcorp.domain.principal import Principal

logger = logging.getLogger(__name__)

LEAD_WORDS = 12
"""Words that locate the beginning of a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPages:
    """Reads once for all citations of an answer, and not at all if every passage is on one page."""

    texts: PageTexts
    timeout_seconds: float = 1.0

    async def find(
        self, cited: Sequence[tuple[Chunk, Sequence[str]]], *, principal: Principal
    ) -> tuple[int | None, ...]:
        """Return the page on which each passage's first quotation begins, else the passage's first page, if any."""
        spans = [_span(chunk) for chunk, _ in cited]
        read = await self._read([span for span in dict.fromkeys(spans) if span is not None], principal)
        return tuple(
            chunk.page_start if span is None or span not in read else _page(span, chunk.content, quotes, read[span])
            for (chunk, quotes), span in zip(cited, spans, strict=True)
        )

    async def _read(self, spans: Sequence[PageSpan], principal: Principal) -> Mapping[PageSpan, PagedText]:
        if not spans:
            return {}
        deadline = asyncio.get_running_loop().time() + self.timeout_seconds
        try:
            return await run_until(deadline, self.texts.read(spans, principal=principal))
        except (TimeoutError, StorageUnavailableError) as error:
            logger.warning("citations name the first page of their passages: %s", type(error).__name__)
            return {}


def _span(chunk: Chunk) -> PageSpan | None:
    """Return the pages to look at; None where there is but one, or none."""
    if chunk.page_start is None or chunk.page_end is None or chunk.page_start == chunk.page_end:
        return None
    return PageSpan(document_id=chunk.document_id, first=chunk.page_start, last=chunk.page_end)


def _page(span: PageSpan, content: str, quotes: Sequence[str], pages: PagedText) -> int:
    lead = quoted_at(" ".join(content.split(maxsplit=LEAD_WORDS)[:LEAD_WORDS]), pages.text)
    beginning = lead.start() if lead else 0
    for quote in quotes:
        # words of a page before the passage may read alike
        match = quoted_at(quote, pages.text, beginning)
        if match is not None:
            return span.first + max(0, bisect_right(pages.starts, match.start()) - 1)
    return span.first
