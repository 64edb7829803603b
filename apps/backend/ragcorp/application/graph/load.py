"""Use case: load entities and facts, one JSON object a line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TypeVar

import anyio.to_thread

from ragcorp.application.validation.attribute_checks import wrong_type
from ragcorp.application.validation.graph_drafts import entity_draft, fact_draft, reference
from ragcorp.application.validation.json_lines import BATCH_LINES, LineFailure, LinesDone, LoadReport, read_lines
from ragcorp.domain.documents import DocumentAttributes, IngestStatus, SaveOutcome, VisibilityScope, WriteOutcome
from ragcorp.domain.exceptions import InvalidInputError
from ragcorp.domain.graph import ENTITY, FACT, EntityDraft, EntityReference, FactDraft, Provenance
from ragcorp.domain.moments import written_moment
from ragcorp.domain.ports.graph import DraftSaving
from ragcorp.domain.principal import Principal, Sensitivity

GraphDraft = EntityDraft | FactDraft

UNKNOWN_ENTITY = ("subject.external_id", "object.external_id")
"""Fields of errors about an entity that a later line may define."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadGraph:
    """Stores entities and facts in batches. A bad one does not stop the others."""

    entities: DraftSaving[EntityDraft]
    facts: DraftSaving[FactDraft]
    default_language: str

    def read(self, line: Mapping[str, object]) -> GraphDraft:
        """Return the entity or fact of a line. Raises InvalidInputError."""
        return read_draft(line, default_language=self.default_language)

    async def store(self, drafts: Sequence[GraphDraft], *, principal: Principal) -> list[SaveOutcome]:
        """Store a batch, its entities first; return the outcomes in order."""
        outcomes: dict[int, SaveOutcome] = {}
        entities = {place: draft for place, draft in enumerate(drafts) if isinstance(draft, EntityDraft)}
        facts = {place: draft for place, draft in enumerate(drafts) if isinstance(draft, FactDraft)}
        if entities:
            saved = await self.entities.save_many(list(entities.values()), principal=principal)
            outcomes |= zip(entities, saved, strict=True)
        if facts:
            saved = await self.facts.save_many(list(facts.values()), principal=principal)
            outcomes |= zip(facts, saved, strict=True)
        return [outcomes[place] for place in range(len(drafts))]

    async def load(
        self, lines: Iterable[bytes], *, principal: Principal, on_progress: LinesDone | None = None
    ) -> LoadReport:
        """Load the lines, read in a worker thread; a fact may precede the entity that it names. Can be repeated."""
        counts: Counter[IngestStatus] = Counter()
        failures: list[LineFailure] = []
        early: list[tuple[int, GraphDraft]] = []
        left = iter(lines)
        done = 0
        while batch := await anyio.to_thread.run_sync(lambda: tuple(islice(left, BATCH_LINES))):
            drafts, bad = read_lines(batch, self.read, first=done + 1)
            failures += bad
            for line, outcome in await self._store(drafts, principal):
                if isinstance(outcome, WriteOutcome):
                    counts[outcome.status] += 1
                elif outcome.error.field in UNKNOWN_ENTITY:
                    early.append((line, dict(drafts)[line]))
                else:
                    failures.append(LineFailure(line=line, error=outcome.error))
            done += len(batch)
            if on_progress:
                on_progress(done)
        for start in range(0, len(early), BATCH_LINES):
            for line, outcome in await self._store(early[start : start + BATCH_LINES], principal):
                if isinstance(outcome, WriteOutcome):
                    counts[outcome.status] += 1
                else:
                    failures.append(LineFailure(line=line, error=outcome.error))
        return LoadReport.of(counts, sorted(failures, key=lambda failure: failure.line), failed=len(failures))

    async def _store(
        self, numbered: Sequence[tuple[int, GraphDraft]], principal: Principal
    ) -> list[tuple[int, SaveOutcome]]:
        outcomes = await self.store([draft for _, draft in numbered], principal=principal)
        return [(line, outcome) for (line, _), outcome in zip(numbered, outcomes, strict=True)]


SHARED = frozenset({"type", "external_id", "language", "sensitivity", "visibility_scope", "owner", "metadata"})
OF_ENTITIES = SHARED | {"name", "kind", "aliases", "description"}
OF_FACTS = SHARED | {
    "subject", "object", "predicate", "kind", "weight", "valid_from", "valid_to", "provenance", "quote",
}  # fmt: skip

Value = TypeVar("Value")


def read_draft(line: Mapping[str, object], *, default_language: str) -> EntityDraft | FactDraft:
    """Parse ``{"type": "entity", "name": ...}`` or ``{"type": "fact", "subject": ...}``. Raises InvalidInputError."""
    match line.get("type"):
        case "entity":
            return _entity(line, default_language)
        case "fact":
            return _fact(line, default_language)
    raise InvalidInputError(
        "type is not a known one.", field="type", limit="entity, fact", remedy='Say {"type": "entity"} or "fact".'
    )


def _entity(line: Mapping[str, object], default_language: str) -> EntityDraft:
    _require_fields(line, OF_ENTITIES)
    aliases = _optional(line, "aliases", list, "a list of names") or []
    if not all(isinstance(alias, str) for alias in aliases):
        raise wrong_type("aliases", "a list of names")
    return entity_draft(
        name=_required(line, "name"),
        attributes=_attributes(line, default_language, kind=_optional(line, "kind", str, "text") or ENTITY),
        external_id=_optional(line, "external_id", str, "text"),
        aliases=aliases,
        description=_optional(line, "description", str, "text") or "",
    )


def _fact(line: Mapping[str, object], default_language: str) -> FactDraft:
    _require_fields(line, OF_FACTS)
    weight = line.get("weight", 1.0)
    if not isinstance(weight, int | float) or isinstance(weight, bool):
        raise wrong_type("weight", "a number")
    if not 0 <= weight <= 1:  # before it is made a float, which an int may be too large for
        raise InvalidInputError.out_of_range("weight", "0 to 1", remedy="Leave it out: 1.")
    return fact_draft(
        subject=_reference(line, "subject"),
        object=_reference(line, "object"),
        predicate=_required(line, "predicate"),
        attributes=_attributes(line, default_language, kind=_optional(line, "kind", str, "text") or FACT),
        external_id=_optional(line, "external_id", str, "text"),
        weight=float(weight),
        valid_from=_time(line, "valid_from"),
        valid_to=_time(line, "valid_to"),
        provenance=_provenance(line),
        quote=_optional(line, "quote", str, "text") or "",
    )


def _reference(line: Mapping[str, object], field: str) -> EntityReference:
    """A name, or ``{"name", "kind"}``, or ``{"external_id"}``."""
    value = line.get(field)
    if isinstance(value, str):
        return reference(field=field, name=value)
    if not isinstance(value, dict):
        raise wrong_type(field, "a name, or an object with external_id or name")
    _require_fields(value, frozenset({"external_id", "name", "kind"}), inside=f"{field}.")
    return reference(
        field=field,
        name=_optional(value, "name", str, "text", inside=f"{field}."),
        external_id=_optional(value, "external_id", str, "text", inside=f"{field}."),
        kind=_optional(value, "kind", str, "text", inside=f"{field}."),
    )


def _provenance(line: Mapping[str, object]) -> Provenance | None:
    value = _optional(line, "provenance", dict, "an object with document or chunk_id")
    if value is None:
        return None
    _require_fields(value, frozenset({"document", "chunk_index", "chunk_id"}), inside="provenance.")
    index = _optional(value, "chunk_index", int, "a whole number", inside="provenance.")
    if isinstance(index, bool):
        raise wrong_type("provenance.chunk_index", "a whole number")
    return Provenance(
        document=_optional(value, "document", str, "text", inside="provenance."),
        chunk_index=index,
        chunk_id=_optional(value, "chunk_id", str, "text", inside="provenance."),
    )


def _attributes(line: Mapping[str, object], default_language: str, *, kind: str) -> DocumentAttributes:
    return DocumentAttributes(
        language=_optional(line, "language", str, "text") or default_language,
        artifact_type=kind,
        sensitivity=Sensitivity.parse(_optional(line, "sensitivity", str, "text") or Sensitivity.NORMAL.label),
        visibility_scope=VisibilityScope.parse(
            _optional(line, "visibility_scope", str, "text") or VisibilityScope.WORKSPACE
        ),
        owner=_optional(line, "owner", str, "text") or "",
        metadata=_optional(line, "metadata", dict, "an object") or {},
    )


def _time(line: Mapping[str, object], field: str) -> datetime | None:
    text = _optional(line, field, str, "text")
    if text is None:
        return None
    try:
        return written_moment(text)
    except ValueError:
        raise InvalidInputError(
            f"{field} is not an ISO 8601 time.", field=field, remedy="Write it as 2026-03-31T00:00:00Z."
        ) from None


def _required(line: Mapping[str, object], field: str) -> str:
    value = _optional(line, field, str, "text")
    if value is None:
        raise InvalidInputError(f"{field} is missing.", field=field, remedy=f"Give {field}.")
    return value


def _optional(
    line: Mapping[str, object], field: str, kind: type[Value], wanted: str, *, inside: str = ""
) -> Value | None:
    value = line.get(field)
    if value is not None and not isinstance(value, kind):
        raise wrong_type(f"{inside}{field}", wanted)
    return value


def _require_fields(line: Mapping[str, object], allowed: frozenset[str], *, inside: str = "") -> None:
    if line.keys() - allowed:
        raise InvalidInputError(
            "The line has a field that is not known here.",
            field=inside.rstrip(".") or "line",
            limit=", ".join(sorted(allowed)),
            remedy="Leave it out, or put it into metadata.",
        )
