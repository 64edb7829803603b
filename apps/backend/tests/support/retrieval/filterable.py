"""Random things with attributes and metadata, random filters over them, and the tables that hold such things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from ragcorp.domain.filters import (
    COMPARISONS,
    DOCUMENT_FIELDS,
    ITEM_FIELDS,
    METADATA,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Not,
    Operator,
)
from ragcorp.domain.principal import Sensitivity

WORKSPACE = "default"

TEXTS = ["", "a", "b", "B", "ñ", "Ñandú", "😀", "z\u0301", "10", "9", "true", "null", "' OR '1'='1' --", "%(x)s", "%s",
         '"', "\\", "a\nb", "{}", "$1", ":name", "\uffff", "\U0001f600a"]  # fmt: skip
KEYS = ["year", "k", "ñ", "a' OR '1'='1' --", "%(filter_0)s", '"', "\\", ":filter_0", "{}", "a.b", "metadata"]
NUMBERS = [
    0,
    1,
    -1,
    2025,
    2025.0,
    0.1,
    0.30000000000000004,
    -0.0,
    1e23,
    10**23,
    2**63,
    -(2**70),
    1.5e308,
    5e-324,
    9,
    10,
]
MOMENTS = [
    datetime(2025, 1, 1, tzinfo=UTC),
    datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    datetime(2025, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(1900, 1, 1, tzinfo=UTC),
    datetime(2099, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
SCALARS = st.one_of(
    st.sampled_from(TEXTS),
    st.sampled_from(NUMBERS),
    st.booleans(),
    st.text(max_size=3).filter(lambda text: "\x00" not in text),
)
STORED = st.one_of(SCALARS, st.none(), st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(KEYS), SCALARS))
LABELS = [level.label for level in Sensitivity]
CHOICES: Mapping[str, Sequence[str]] = {
    "external_id": [f"{number}" for number in range(8)],
    "language": ["es", "en", "ñ"],
    "artifact_type": ["document", "minutes", "a' OR true --"],
    "sensitivity": LABELS,
    "visibility_scope": ["workspace", "group", "private"],
    "owner": ["", "ana", "legal"],
    "collection": ["artifacts", "artifact_chunks", "memory", "history", "elsewhere"],
    "document_id": [str(UUID(int=number)) for number in range(1, 8)],
    "session": ["s1", "s2", ""],
    "speaker": ["Priya", "Rajesh"],
}


@st.composite
def things(draw: st.DrawFn) -> dict[str, object]:
    """What documents and items have in common; ``session`` and ``speaker`` are of items alone."""
    chosen = {
        name: draw(st.sampled_from(CHOICES[name]))
        for name in ("language", "artifact_type", "visibility_scope", "owner")
    }
    return {
        **chosen,
        "sensitivity": draw(st.sampled_from(list(Sensitivity))),
        "occurred_at": draw(st.none() | st.sampled_from(MOMENTS)),
        "session": draw(st.none() | st.sampled_from(CHOICES["session"])),
        "speaker": draw(st.none() | st.sampled_from(CHOICES["speaker"])),
        METADATA: draw(st.dictionaries(st.sampled_from(KEYS), STORED, max_size=5)),
    }


@st.composite
def _conditions(draw: st.DrawFn, fields: frozenset[str]) -> Condition:
    name = draw(st.sampled_from(sorted(fields - {METADATA})) | st.sampled_from(KEYS))
    kinds = [Operator.IN, Operator.NOT_IN, Operator.EXISTS]
    if name in ("sensitivity", *KEYS):
        kinds += sorted(COMPARISONS)
    if name == "occurred_at":
        kinds = [Operator.EXISTS, *sorted(COMPARISONS)]
    operator = draw(st.sampled_from(kinds))
    if operator is Operator.EXISTS:
        return Condition(name=name, operator=operator, values=(draw(st.booleans()),))
    values: st.SearchStrategy[object] = st.sampled_from(CHOICES[name]) if name in CHOICES else SCALARS
    if name == "occurred_at":
        values = st.sampled_from(MOMENTS)
    if operator in COMPARISONS:
        compared = draw(values.filter(lambda value: not isinstance(value, bool)))
        return Condition(name=name, operator=operator, values=(compared,))  # type: ignore[arg-type]
    listed = draw(st.lists(values, min_size=1, max_size=3))
    return Condition(name=name, operator=operator, values=tuple(listed))  # type: ignore[arg-type]


def trees(fields: frozenset[str]) -> st.SearchStrategy[Filter]:
    """Trees over the fields, up to three levels deep."""
    tree: st.SearchStrategy[Filter] = _conditions(fields)
    for _ in range(3):
        parts = st.lists(tree, min_size=1, max_size=2).map(tuple)
        tree = st.one_of(
            tree,
            parts.map(lambda parts: AllOf(parts=parts)),
            parts.map(lambda parts: AnyOf(parts=parts)),
            tree.map(lambda part: Not(part=part)),
        )
    return tree


OF_DOCUMENTS, OF_ITEMS = trees(DOCUMENT_FIELDS), trees(ITEM_FIELDS)

SHARED = ("language", "artifact_type", "sensitivity", "visibility_scope", "owner", "occurred_at")


def insert_documents(connection: Connection[TupleRow], described: Sequence[Mapping[str, object]]) -> None:
    """Put in one document with one chunk a thing; the n-th has the external_id n and the id n + 1."""
    for number, thing in enumerate(described):
        values = {name: thing[name] for name in SHARED} | {
            "id": UUID(int=number + 1),
            "workspace": WORKSPACE,
            "external_id": str(number),
            "metadata": Jsonb(thing[METADATA]),
        }
        connection.execute(
            """
            INSERT INTO documents (id, workspace, external_id, text, metadata, content_hash, chunker, chunk_count,
                media_type, filename, size_bytes, language, artifact_type, sensitivity, visibility_scope, owner,
                occurred_at)
            VALUES (%(id)s, %(workspace)s, %(external_id)s, '', %(metadata)s, '', 'x', 1, 'text/plain', '', 0,
                %(language)s, %(artifact_type)s, %(sensitivity)s, %(visibility_scope)s, %(owner)s, %(occurred_at)s)
            """,
            values,
        )
    connection.execute(
        """
        INSERT INTO chunks (document_id, workspace, chunk_index, content, line_start, line_end, token_count,
            content_hash, language, artifact_type, sensitivity, visibility_scope, owner, occurred_at)
        SELECT id, workspace, 0, 'aguja', 1, 1, 1, '', language, artifact_type, sensitivity, visibility_scope, owner,
            occurred_at
        FROM documents
        """
    )


def insert_items(connection: Connection[TupleRow], table: str, described: Sequence[Mapping[str, object]]) -> None:
    """Put in one item a thing; the n-th has the external_id n."""
    for number, thing in enumerate(described):
        values = {name: thing[name] for name in (*SHARED, "session", "speaker")} | {
            "workspace": WORKSPACE,
            "external_id": str(number),
            "metadata": Jsonb(thing[METADATA]),
        }
        connection.execute(
            f"""
            INSERT INTO {table} (workspace, external_id, text, metadata, content_hash, language, artifact_type,
                sensitivity, visibility_scope, owner, occurred_at, session, speaker)
            VALUES (%(workspace)s, %(external_id)s, 'aguja', %(metadata)s, '', %(language)s, %(artifact_type)s,
                %(sensitivity)s, %(visibility_scope)s, %(owner)s, %(occurred_at)s, %(session)s, %(speaker)s)
            """,
            values,
        )
