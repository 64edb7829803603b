"""Entities of any document: symbols where its path names source code, else sections, clauses and codes."""

import re
from collections.abc import Sequence

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.ports.structure import Tokenizer
from ragcorp.domain.structure.entities import MAX_ENTITIES, DocumentStructure
from ragcorp.domain.text.checks import is_blank
from ragcorp.infrastructure.structure.code import code_entities
from ragcorp.infrastructure.structure.drafts import Drafts
from ragcorp.infrastructure.structure.languages import LANGUAGES, CodeLanguage, Grammars
from ragcorp.infrastructure.structure.syntax import Syntax, read_syntax
from ragcorp.infrastructure.structure.text_entities import text_entities

ALGORITHM = "structure-3"
"""Increment when the same text gives other entities or names."""

_NOT_STORED = re.compile("[\x00\ud800-\udfff]")


class TreeSitterExtractor:
    """Source code without a grammar, and configuration, are one entity: the file.

    ``parse_seconds`` bounds the CPU time of parsing a file; a file that takes longer is one entity too. Carriage
    returns end lines if there are no line feeds.
    """

    def __init__(
        self, *, tokenizer: Tokenizer, languages: Sequence[CodeLanguage] = LANGUAGES, parse_seconds: float = 3.0
    ) -> None:
        self._tokenizer = tokenizer
        self._grammars = Grammars(languages)
        self._parse_seconds = parse_seconds

    @property
    def fingerprint(self) -> str:
        return f"{ALGORITHM}:{self._tokenizer.name}:{','.join(self._grammars.names())}"

    def extract(self, parsed: ParsedText, *, path: str) -> DocumentStructure:
        text = _NOT_STORED.sub("\ufffd", parsed.text)
        if "\n" not in text:
            text = text.replace("\r", "\n")
        if is_blank(text):
            return DocumentStructure(fingerprint=self.fingerprint, path=path)
        named = _NOT_STORED.sub("\ufffd", path) or "document"
        drafts = Drafts(text, path=named, tokenizer=self._tokenizer)
        language = self._grammars.language_of(path)
        if language or parsed.plain:
            grammar = self._grammars.grammar(language) if language else None
            syntax = read_syntax(text, grammar, seconds=self._parse_seconds) if grammar else Syntax()
            entities = drafts.of_code(
                code_entities(text, syntax, path=named)[:MAX_ENTITIES], language=language.name if language else ""
            )
        else:
            entities = drafts.of_text(text_entities(text, path=named, plain=parsed.plain)[:MAX_ENTITIES])
        return DocumentStructure(fingerprint=self.fingerprint, path=path, entities=entities)
