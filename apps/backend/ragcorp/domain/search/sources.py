"""Names of the retrieval sources and of the ranked lists that each returns."""

from __future__ import annotations

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
OWN_SOURCES = frozenset({*DENSE_SOURCES, *FULL_TEXT_SOURCES, GRAPH_FACTS, GREP, STRUCTURE})
"""Sources that may find the query or its filters at fault."""
OWN_LISTS = OWN_SOURCES | {IDENTIFIERS, ALL_WORDS}
"""Lists that hold what the principal may read and nothing else."""

LISTS = {FULL_TEXT: (FULL_TEXT, IDENTIFIERS, ALL_WORDS)}
"""The lists of a source that gives several; any other gives one of its name."""
