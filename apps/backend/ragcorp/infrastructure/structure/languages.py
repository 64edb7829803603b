"""Programming languages with entities."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Query

_log = logging.getLogger(__name__)

_INHERITS = re.compile(r"; inherits: (.+)\n")
_LEADING = ("comment", "line_comment", "block_comment", "decorator", "attribute_item")
"""Kinds of node, whatever the grammar calls them, that belong to the definition under them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLanguage:
    """A grammar, ``tree_sitter_<name>.<function>()``, and its query in ``queries/``; by default that of the grammar."""

    name: str
    suffixes: tuple[str, ...]
    function: str = "language"
    query: str | None = None

    @property
    def module(self) -> str:
        return f"tree_sitter_{self.name}"


LANGUAGES = (
    CodeLanguage(name="python", suffixes=(".py", ".pyi"), query="python"),
    CodeLanguage(name="javascript", suffixes=(".js", ".mjs", ".cjs", ".jsx"), query="javascript"),
    CodeLanguage(
        name="typescript", suffixes=(".ts", ".mts", ".cts"), function="language_typescript", query="typescript"
    ),
    CodeLanguage(name="typescript", suffixes=(".tsx",), function="language_tsx", query="tsx"),
    CodeLanguage(name="go", suffixes=(".go",), query="go"),
)
"""A new language needs one line here and its wheel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A loaded grammar and its query."""

    language: Language
    query: Query


class Grammars:
    """Loads grammars, each at its first use. Safe to share between threads."""

    def __init__(self, languages: Sequence[CodeLanguage] = LANGUAGES) -> None:
        self._by_suffix = {suffix: language for language in languages for suffix in language.suffixes}
        self._loaded: dict[CodeLanguage, Grammar | None] = {}
        self._lock = threading.Lock()

    def language_of(self, path: str) -> CodeLanguage | None:
        return self._by_suffix.get(PurePosixPath(path.replace("\\", "/").lower()).suffix)

    def names(self) -> tuple[str, ...]:
        """Return the languages whose grammars are installed, sorted."""
        names: set[str] = set()
        for language in self._by_suffix.values():
            if language.name not in names and self.grammar(language):
                names.add(language.name)
        return tuple(sorted(names))

    def grammar(self, language: CodeLanguage) -> Grammar | None:
        """Return the grammar, None if it is not installed or its version does not fit the queries."""
        with self._lock:
            if language not in self._loaded:
                self._loaded[language] = _load(language)
            return self._loaded[language]


def _load(language: CodeLanguage) -> Grammar | None:
    try:
        import_module("tree_sitter")
        import_module(language.module)
    except ImportError:
        return None
    return _compiled(language)


@cache
def _compiled(language: CodeLanguage) -> Grammar | None:
    """Compile the queries, which takes some 50 ms a language: once for the process."""
    tree_sitter, module = import_module("tree_sitter"), import_module(language.module)
    try:
        grammar: Language = tree_sitter.Language(getattr(module, language.function)())
        leading = (f"({kind}) @leading" for kind in _LEADING if grammar.id_for_node_kind(kind, True))
        definitions = _query(language.query) if language.query else module.TAGS_QUERY
        query = "\n".join((definitions, *leading))
        return Grammar(language=grammar, query=tree_sitter.Query(grammar, query))
    except (ValueError, AttributeError):
        _log.warning("the grammar %s is of another version: no symbols of its files", language.module)
        return None


def _query(name: str) -> str:
    """Return a query after those that its first line names: ``; inherits: ecmascript, jsx``."""
    query = files(__package__).joinpath("queries", f"{name}.scm").read_text(encoding="utf-8")
    inherited = _INHERITS.match(query)
    above = inherited.group(1).split(",") if inherited else ()
    return "\n".join((*(_query(inherited_name.strip()) for inherited_name in above), query))
