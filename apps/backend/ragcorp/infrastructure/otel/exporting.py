"""Sends spans by OTLP over HTTP, to OTEL_EXPORTER_OTLP_ENDPOINT."""

import asyncio

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from ragcorp.tracing import NAME, trace_with

FLUSH_SECONDS = 2.0


class OtlpTraces:
    """Exports spans until it is closed. Has its own provider and does not change the process's global one."""

    def __init__(self, *, version: str) -> None:
        self._provider = TracerProvider(resource=_resource(version), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace_with(self._provider)

    async def aclose(self) -> None:
        """Send the recorded spans. A collector that does not respond delays this by ``FLUSH_SECONDS`` at most."""
        trace_with(None)
        loop = asyncio.get_running_loop()
        flushed = loop.run_in_executor(None, self._provider.force_flush, int(FLUSH_SECONDS * 1000))
        await asyncio.wait([flushed], timeout=FLUSH_SECONDS)


def _resource(version: str) -> Resource:
    """Return the service that the spans describe; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override its name."""
    resource = Resource.create({"service.version": version})
    if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown_service"):
        return resource.merge(Resource({"service.name": NAME}))
    return resource
