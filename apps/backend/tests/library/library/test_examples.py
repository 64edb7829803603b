"""The examples in the docstrings of what `import ragcorp` offers run, and none is missing (ADR-051)."""

from __future__ import annotations

import doctest
import functools
import inspect
from types import SimpleNamespace

import ragcorp
from ragcorp.interface.library import blocking, collections, graph, rag

EXTENDED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> list[type | object]:
    named = [getattr(ragcorp, name) for name in ragcorp.__all__ if not name.startswith("_")]
    parts = [collections.Items, collections.History, collections.Artifacts, collections.Chunks, graph.Graph]
    return [rag.Rag, blocking.BlockingRag, *parts, *named]


def test_examples_of_the_library_run(dsn: str) -> None:
    opened = functools.partial(ragcorp.open, database_url=dsn, embedding_provider="none")
    module = SimpleNamespace(**{name: getattr(ragcorp, name) for name in ragcorp.__all__} | {"open": opened})
    runner = doctest.DocTestRunner(optionflags=EXTENDED)
    with opened() as library:
        for value in documented():
            assert ">>>" in (inspect.getdoc(value) or ""), value
            names = {**vars(inspect.getmodule(value)), "ragcorp": module, "rag": library}
            for example in doctest.DocTestFinder(recurse=False).find(value, globs=names, name=str(value)):
                runner.run(example)
    assert runner.summarize().failed == 0
