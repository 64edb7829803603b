"""How the service is."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from ragcorp.domain.status import Overall, PartState, ServiceStatus
from ragcorp.interface.shapes.recognition import Recognition
from ragcorp.interface.shapes.values import filled

STATUS_EXAMPLE: dict[str, Any] = {
    "request_id": "6f1c",
    "status": "degraded",
    "version": "0.1.0",
    "worker": None,
    "sources": [
        {"source": "database", "state": "ok", "reason": None, "says": None, "remedy": None},
        {
            "source": "dense",
            "state": "degraded",
            "reason": "vectors_pending",
            "says": "Search of passages by meaning does not find everything yet: 12 texts wait for a vector.",
            "remedy": "Wait: the service makes them in the background. Until then these texts are found by their "
            "words.",
        },
    ],
    "counts": {
        "documents": 48,
        "deleted_documents": 1,
        "chunks": 508,
        "memories": 3,
        "turns": 20,
        "entities": 14,
        "facts": 9,
    },
    "embedding": {"model": "multilingual-e5-small", "pending": 12, "failed": 0},
    "recognition": {"pages": 31, "done": 30, "failed": 1},
    "flags": [
        {
            "name": "ENABLE_HYBRID_SEARCH",
            "value": "true",
            "is_default": False,
            "says": "Search dense and full text and fuse them (mode auto).",
        }
    ],
}


class SourceStatus(TypedDict):
    """A source that a search can ask, or what stands beside them: `database`, `rerank`, `answerer`."""

    source: str
    state: Annotated[
        PartState,
        Field(
            description="`degraded` does a part of its work, `out` none; `off` is so by configuration, and no fault."
        ),
    ]
    reason: Annotated[str | None, Field(description="A short stable word for why it is not `ok`.")]
    says: Annotated[str | None, Field(description="The same in a sentence for people.")]
    remedy: Annotated[str | None, Field(description="What can be done.")]


class ReadableCounts(TypedDict):
    """How much of the workspace the caller may read."""

    documents: int
    deleted_documents: Annotated[int, Field(description="Those that can still be restored.")]
    chunks: int
    memories: int
    turns: int
    entities: int
    facts: int


class EmbeddingStatus(TypedDict):
    """The embedding model, and how much of what the caller may read lacks its vectors."""

    model: Annotated[str | None, Field(description="None is set up where it is null.")]
    pending: Annotated[int | None, Field(description="Texts without a vector, those that were given up included.")]
    failed: Annotated[int | None, Field(description="Those of them that were given up.")]


class ShownFlag(TypedDict):
    """A setting in force, by the name of its variable."""

    name: str
    value: Annotated[str | None, Field(description="Null where it is unset.")]
    is_default: bool
    says: str


@with_config(ConfigDict(json_schema_extra={"examples": [STATUS_EXAMPLE]}))
class StatusBody(TypedDict):
    """How the service is. What cannot be known at the moment is null."""

    request_id: str
    status: Annotated[Overall, Field(description="`unavailable`: nothing can be found at the moment.")]
    version: str
    worker: Annotated[str | None, Field(description="The worker that answers, where `serve --workers` runs several.")]
    sources: list[SourceStatus]
    counts: ReadableCounts | None
    embedding: EmbeddingStatus
    recognition: Annotated[Recognition | None, Field(description="Of the documents that the caller may read.")]
    flags: list[ShownFlag]


def status_document(status: ServiceStatus, *, request_id: str, worker: str | None) -> StatusBody:
    waiting = None if status.counts is None else status.counts.waiting.values()
    return {
        "request_id": request_id,
        "status": status.overall,
        "version": status.version,
        "worker": worker,
        "sources": [filled(SourceStatus, part) for part in status.parts],
        "counts": None if status.counts is None else filled(ReadableCounts, status.counts),
        "embedding": {
            "model": status.model,
            "pending": None if waiting is None else sum(count.pending for count in waiting),
            "failed": None if waiting is None else sum(count.failed for count in waiting),
        },
        "recognition": None if status.counts is None else filled(Recognition, status.counts.recognition),
        "flags": [filled(ShownFlag, flag) for flag in status.flags],
    }
