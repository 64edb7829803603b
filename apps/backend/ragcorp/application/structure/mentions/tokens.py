"""Tokenizes a query into words, compounds and quotations, without addresses (URLs, e-mail). Pure; linear time.

Offsets refer to the text in NFC.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.utterances import content_words
from ragcorp.domain.text.word_lists import word_set

MAX_TOKEN = 200
"""Maximum characters; a longer token (an encoded blob) is ignored."""

_QUOTED = re.compile(
    r"«([^«»\n]{1,200})»|“([^“”\n]{1,200})”|„([^„“”\n]{1,200})[\u201c\u201d]|\"([^\"\n]{1,200})\""
    r"|(?<!`)`([^`\n]{1,200})`|\u2018([^\u2018\u2019\n]{1,200})\u2019(?!\w)|(?<!\w)'([^'\n]{1,200})'(?!\w)"
    r"|\u2039([^\u2039\u203a\n]{1,200})\u203a"
)
_TOKEN = re.compile(
    r"(?:(?<!\w)(?:[A-Za-z]:[\\/]|~?(?:\.{0,2}[/\\]){1,9}|[.$@]))?\w+(?:(?:::|->|[/\\](?:\.{1,2}[/\\]){0,9}|[-.:#~@+])\w+)*"
)
_CALL = re.compile(r"\((?:|\.{3}|…|[\w.]{3,40}|\w{1,40}(?:, ?\w{1,40}){1,9})\)")
_CHUNK = re.compile(r"\S+")
_HYPHEN = re.compile(r"(?<=\w)[\u2010-\u2013\u2212](?=\w)")
_GO_FRAME = re.compile(
    r"[\w.-]{1,80}(?:/[\w.~-]{1,80}){1,12}\.(?:\(\*?\w{1,60}\)\.)?\w{1,60}(?:\.func\d+[\d.]{0,9})?\("
)
_GO_RECEIVER = re.compile(r"\w+\.\((\*?)(\w+)\)\.(?=\w)")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]{0,15}://|www\.|mailto:)", re.IGNORECASE)
_MAIL = re.compile(r"(?<=[\w.+-])@[\w-]{1,63}\.\w")
_TOP_LEVEL = "com|org|net|edu|gov|es|eu|pt|br|mx|uk"
_HOST = re.compile(
    r"(?<![\w./\\@])[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){0,3}"
    rf"\.(?:{_TOP_LEVEL})(?![\w(.]*\w)(?:[/:?#]\S*)?"
)
_PLURAL_ENDINGS = frozenset({"(s)", "(es)", "(as)", "(os)", "(a)", "(o)"})
_ASKING = word_set("""
    fix add find get show give tell list look make use need want help please change update remove delete check see
    explain describe summarize summarise compare write read open close edit refactor improve review rename move
    happens does done doing work works working mean means used using there here
    arregla arreglar corrige corregir busca buscar encuentra encontrar muestra mostrar dime dame explica explicame
    explicar anade anadir añade añadir cambia cambiar quita quitar borra borrar revisa revisar mira mirar mejora
    mejorar abre abrir resume resumir compara comparar necesito quiero puedo puedes puede hace hacer haz dice dicen
    decir pasa funciona
    significa ayuda ayudame llama llamada llamado utiliza usa usar
    corrija mostre explique procure preciso quero faz fazer
""")
"""Words of instructions, in lower case without accents: they never name anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word, compound or quote; ``outer_*``: with marks. ``called``: ``()`` follow. ``glued``: after spaces only."""

    text: str
    start: int
    end: int
    outer_start: int
    outer_end: int
    quote: str = ""
    called: bool = False
    glued: bool = False

    @property
    def is_word(self) -> bool:
        return not self.quote and not self.called and self.text.isalpha()


def composed(query: str) -> str:
    """Return the text in NFC, with the hyphens of Word and PDF (U+2010 to U+2013, U+2212) between words as ``-``."""
    return _HYPHEN.sub("-", unicodedata.normalize("NFC", query))


@lru_cache(maxsize=4096)
def plain_word(word: str) -> str:
    return folded_in_place(word)


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of a composed text in order; a quotation precedes its words."""
    tokens = sorted(_scan(_without_addresses(text)), key=lambda token: (token.outer_start, -token.end))
    return tuple(_joined(text, tokens))


@lru_cache(maxsize=4096)
def has_content(word: str) -> bool:
    """Return whether a word has content: at least three letters, no function word, no word of instructions."""
    return len(word) > 2 and plain_word(word) not in _ASKING and bool(content_words(word))


def _scan(text: str) -> Iterator[Token]:
    whole: list[tuple[int, int]] = []
    for quoted in _QUOTED.finditer(text):
        number = quoted.lastindex or 1
        content = quoted[number].strip()
        if not content or not any(character.isalnum() for character in content):
            continue
        start = quoted.start(number) + quoted[number].index(content)
        yield Token(
            text=content,
            start=start,
            end=start + len(content),
            outer_start=quoted.start(),
            outer_end=quoted.end(),
            quote=quoted[0][0],
        )
        if len(content.split()) == 1:
            whole.append(quoted.span())
    whole.reverse()
    for token in _TOKEN.finditer(text):
        while whole and whole[-1][1] <= token.start():
            whole.pop()
        if len(token[0]) > MAX_TOKEN or (whole and whole[-1][0] < token.start()):
            continue
        call = _CALL.match(text, token.end())
        called = call is not None and call[0] not in _PLURAL_ENDINGS and not token[0].isdecimal()
        end = call.end() if call and called else token.end()
        yield Token(
            text=token[0], start=token.start(), end=token.end(), outer_start=token.start(), outer_end=end, called=called
        )


def _joined(text: str, tokens: list[Token]) -> Iterator[Token]:
    """Mark glued tokens, and drop the words inside a call."""
    end, called_until = 0, 0
    for token in tokens:
        if token.start < called_until:
            continue
        if token.called:
            called_until = token.outer_end
        between = text[end : token.outer_start] if token.outer_start >= end else "|"
        glued = between != "" and between.isspace() and "\n" not in between and end > 0
        yield replace(token, glued=glued)
        end = token.outer_end


def _without_addresses(text: str) -> str:
    """Return the text with bars in place of addresses; its length stays."""

    def barred(chunk: re.Match[str]) -> str:
        if frame := _GO_FRAME.match(chunk[0]):
            name = frame[0].rindex("/") + 1
            return "|" * name + _GO_RECEIVER.sub(_unwrapped, chunk[0][name:])
        if len(chunk[0]) > MAX_TOKEN * 10:
            return "|" * len(chunk[0])
        if address := _ADDRESS.search(chunk[0]):
            return chunk[0][: address.start()] + "|" * (len(chunk[0]) - address.start())
        if "@" in chunk[0] and _MAIL.search(chunk[0]):
            return "|" * len(chunk[0])
        if "." in chunk[0]:
            return _HOST.sub(lambda host: "|" * len(host[0]), chunk[0])
        return chunk[0]

    return _CHUNK.sub(barred, text)


def _unwrapped(receiver: re.Match[str]) -> str:
    """Return ``auth.(*Server).`` as ``||||||Server::``: its length stays."""
    return "|" * (len(receiver[0]) - len(receiver[2]) - 2) + f"{receiver[2]}::"
