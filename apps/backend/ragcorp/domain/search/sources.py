"""Built-in retrieval sources: names, labels, collections, and the profiles that query them."""

from dataclasses import dataclass

from ragcorp.domain.collections import GRAPH, Collection
from ragcorp.domain.files.values import FILES
from ragcorp.domain.retrieval import CHUNK_COLLECTION

DENSE = "dense"
FULL_TEXT = "full_text"
IDENTIFIERS = "identifiers"
ALL_WORDS = "all_words"

ARTIFACTS_DENSE = "artifacts.dense"
ARTIFACTS_FULL_TEXT = "artifacts.full_text"
MEMORY_DENSE = "memory.dense"
MEMORY_FULL_TEXT = "memory.full_text"
HISTORY_DENSE = "history.dense"
HISTORY_FULL_TEXT = "history.full_text"
GRAPH_FACTS = "graph"
GREP = "grep"
STRUCTURE = "structure"

DENSE_SOURCES = (DENSE, ARTIFACTS_DENSE, MEMORY_DENSE, HISTORY_DENSE)
FULL_TEXT_SOURCES = (FULL_TEXT, ARTIFACTS_FULL_TEXT, MEMORY_FULL_TEXT, HISTORY_FULL_TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInSource:
    """``label`` starts messages; ``vectors`` is the collection whose pending vectors make the source incomplete."""

    label: str
    collection: str = CHUNK_COLLECTION
    vectors: str | None = None


BUILT_IN = {
    DENSE: BuiltInSource(label="Search of passages by meaning", vectors=CHUNK_COLLECTION),
    FULL_TEXT: BuiltInSource(label="Search of passages by words"),
    ARTIFACTS_DENSE: BuiltInSource(
        label="Search of whole documents by meaning", collection=Collection.ARTIFACTS, vectors=CHUNK_COLLECTION
    ),
    ARTIFACTS_FULL_TEXT: BuiltInSource(label="Search of whole documents by words", collection=Collection.ARTIFACTS),
    MEMORY_DENSE: BuiltInSource(
        label="Search of memories by meaning", collection=Collection.MEMORY, vectors=Collection.MEMORY
    ),
    MEMORY_FULL_TEXT: BuiltInSource(label="Search of memories by words", collection=Collection.MEMORY),
    HISTORY_DENSE: BuiltInSource(
        label="Search of conversations by meaning", collection=Collection.HISTORY, vectors=Collection.HISTORY
    ),
    HISTORY_FULL_TEXT: BuiltInSource(label="Search of conversations by words", collection=Collection.HISTORY),
    GRAPH_FACTS: BuiltInSource(label="Search of facts", collection=GRAPH, vectors=GRAPH),
    GREP: BuiltInSource(label="Search in files", collection=FILES),
    STRUCTURE: BuiltInSource(label="Search of symbols, headings and clauses by name"),
}

SOURCES_OF = {
    "dense": (DENSE,),
    "sparse": (FULL_TEXT,),
    "hybrid": (DENSE, FULL_TEXT),
    "collections": (DENSE, FULL_TEXT, ARTIFACTS_DENSE, ARTIFACTS_FULL_TEXT),
    "memory": (MEMORY_FULL_TEXT, HISTORY_FULL_TEXT, MEMORY_DENSE, HISTORY_DENSE, GRAPH_FACTS),
    "files": (DENSE, GREP),
    "grep": (GREP,),
    "code": (DENSE, FULL_TEXT, STRUCTURE),
}
"""The sources of each standard profile; linear queries those of hybrid, everything those of collections and memory."""

OWN_SOURCES = frozenset(BUILT_IN)
"""Built-in sources: they alone may reject a query or its filters."""
OWN_LISTS = OWN_SOURCES | {IDENTIFIERS, ALL_WORDS}
"""Lists that contain only hits that the principal may read."""

LISTS = {FULL_TEXT: (FULL_TEXT, IDENTIFIERS, ALL_WORDS)}
"""The lists of a source that returns several; any other returns one with its name."""
