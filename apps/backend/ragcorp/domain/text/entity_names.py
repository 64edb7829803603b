"""The names by which entities are stored and mentioned: ``<kind>:<folded>``. Pure.

Both sides fold alike, so a mention finds what it names in any writing: ``validate_token``, ``validateToken`` and
``Validate-Token`` are one symbol, ``ACME-2024/7`` and ``acme 2024 7`` one identifier.
"""

import re

from ragcorp.domain.structure.entities import NameKind
from ragcorp.domain.text.folding import folded

MAX_NAME = 200
"""Characters of a folded name; of a longer one, its beginning."""

_NO_WORD = re.compile(r"[\W_]+")
_QUALIFIERS = re.compile(r"::|[.#/\\]|->")


def file_name(path: str) -> str:
    """Return the stored name of a file, by the last part of its path: ``file:auth.go``."""
    return _stored(NameKind.FILE, folded(_last(path)))


def stem_name(path: str) -> str:
    """Return the stored name of a file without its extension, written in any way: ``stem:usersession``."""
    last = _last(path)
    return _stored(NameKind.STEM, _joined(last.rpartition(".")[0].strip(".") or last))


def symbol_name(name: str) -> str:
    """Return the stored name of a symbol, simple or qualified: ``symbol:session.validatetoken``."""
    parts = [_joined(part) for part in _QUALIFIERS.split(name)]
    return _stored(NameKind.SYMBOL, ".".join(part for part in parts if part))


def heading_name(heading: str) -> str:
    """Return the stored name of a heading: ``heading:plazo de entrega``."""
    return _stored(NameKind.HEADING, _NO_WORD.sub(" ", folded(heading)).strip())


def clause_name(number: str) -> str:
    """Return the stored name of a clause by its canonical number: ``clause:4.2``."""
    return _stored(NameKind.CLAUSE, number.casefold())


def article_name(number: str) -> str:
    return _stored(NameKind.ARTICLE, number.casefold())


def identifier_name(code: str) -> str:
    """Return the stored name of a code, whatever separates its parts: ``identifier:fac20240113``."""
    return _stored(NameKind.IDENTIFIER, _joined(code))


def is_empty(name: str) -> bool:
    """Return whether a name is empty but for its kind."""
    return name.endswith(":")


def _stored(kind: NameKind, name: str) -> str:
    return f"{kind.value}:{name[:MAX_NAME]}"


def _last(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _joined(text: str) -> str:
    return _NO_WORD.sub("", folded(text))
