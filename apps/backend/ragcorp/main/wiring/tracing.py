"""Exports traces where ENABLE_TRACING is set."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import ragcorp
from ragcorp.domain.exceptions import MissingExtraError
from ragcorp.main.settings.schema import Settings

if TYPE_CHECKING:
    from ragcorp.infrastructure.otel.exporting import OtlpTraces


def make_tracing(settings: Settings) -> OtlpTraces | None:
    """Start to export the spans of this process, with ENABLE_TRACING. Raises MissingExtraError."""
    if not settings.enable_tracing:
        return None
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise MissingExtraError(feature="Tracing (ENABLE_TRACING)", extra="otel")
    from ragcorp.infrastructure.otel.exporting import OtlpTraces

    return OtlpTraces(version=ragcorp.__version__)
