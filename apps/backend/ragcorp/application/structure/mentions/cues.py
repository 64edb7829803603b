"""Cues: words that say the kind of the name next to them, as in "la función login", "the auth module". Pure.

The name is quoted, a compound, or the longest run of plain words that names something.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from types import MappingProxyType

from ragcorp.application.structure.mentions.shapes import Mention, distinct, file_mention, shaped, symbol_mention
from ragcorp.application.structure.mentions.tokens import Token, has_content, plain_word
from ragcorp.domain.text.entity_names import file_name, heading_name, stem_name, symbol_name
from ragcorp.domain.text.utterances import content_words
from ragcorp.domain.text.word_lists import word_set

MAX_NAME_WORDS = 4
MAX_HEADING_WORDS = 8
MAX_LISTED = 8
"""Maximum names after one plural cue."""


class Cue(Enum):
    FILE = "file"
    SYMBOL = "symbol"
    HEADING = "heading"


_CUES = {
    Cue.FILE: """
        archivo archivos fichero ficheros modulo modulos script scripts documento documentos pdf excel notebook
        arquivo arquivos ficheiro ficheiros file files module modules document documents
    """,
    Cue.SYMBOL: """
        funcion funciones metodo metodos clase clases interfaz interfaces tipo tipos struct structs estructura enum
        constante constantes variable variables simbolo simbolos decorador constructor componente hook
        funcao funcoes classe classes function functions func funcs method methods class interface type types
        constant constants symbol symbols decorator component def
    """,
    Cue.HEADING: """
        apartado apartados seccion secciones capitulo capitulos epigrafe epigrafes anexo anexos titulo clausula
        clausulas estipulacion encabezado disposicion secao section sections chapter chapters heading headings annex
        appendix clause clauses schedule exhibit
    """,
}
_KINDS = {word: kind for kind, words in _CUES.items() for word in words.split()}
_CUES_AFTER = word_set(
    "file files module modules script function func method class struct interface component hook decorator"
)
_HEADING_CUES_AFTER = word_set("section sections chapter clause clauses annex appendix schedule heading")
"""English cues follow the name: "the login function"."""

_CALLING = word_set("llamada llamado llamadas llamados denominada denominado named called titulado titulada nombre")
_JOINING = word_set("de del sobre of on about the la el los las da do titulada")
_QUALIFYING = word_set("""
    adjunto adjunta adjuntos adjuntas principal principales siguiente siguientes anterior anteriores nuevo nueva actual
    actuales completo completa firmado firmada propio propia general generales publica publico privada privado abstracta
    abstracto primera primer segunda segundo final mismo misma entero entera ultimo ultima original originales
    hace hacen funciona funcionan dice dicen significa pasa llama utiliza usa usan
""")
_QUALIFYING_IN_ENGLISH = word_set("""
    action actions size sizes name names path paths system first last next previous new old whole entire other same
    attached following below above returns takes call calls error errors does done doing work works working mean means
    used using there here
""")
_ENGLISH = word_set("""
    file files module modules document documents function functions func funcs method methods class interface type types
    constant constants symbol symbols decorator component def script hook
""")
"""After these, an English word may continue the sentence; after a Spanish cue it is a name: "la función next"."""
_AND = frozenset({"y", "e", "o", "u", "and", "or"})
_GAP = re.compile(r"(?!\Z)[ \t\u00a0:*_(=#]{0,8}\n?[ \t\u00a0:*_(=#>]{0,8}")
_LIST = re.compile(r"\s{0,3}(?:,|\b(?:y|e|o|u|and|or|&))\s{1,3}")
_WITH_LABEL = ("dis", "ane", "ann", "app", "sch", "exh")


def cue_of(token: Token) -> Cue | None:
    return None if token.quote or token.called else _KINDS.get(plain_word(token.text))


def cued(text: str, tokens: Sequence[Token], place: int) -> Iterator[tuple[Mention, int]]:
    """Yield the mentions of the cue at an index, each with the index after it."""
    cue, token = cue_of(tokens[place]), tokens[place]
    target, joined = _target(text, tokens, place + 1)
    if cue is None or target is None:
        return
    if cue is Cue.HEADING:
        yield from _heading(text, tokens, place, target)
        return
    if joined and _is_plain(tokens[target]):  # "la función de login"
        for mention, after in _plain_names(text, cue, tokens, target, weak=True):
            yield replace(mention, word=tokens[target].text if cue is Cue.SYMBOL else None), after
        return
    for _ in range(MAX_LISTED if plain_word(token.text).endswith("s") else 1):
        named = list(_named(text, cue, tokens, target, english=plain_word(token.text) in _ENGLISH))
        yield from named
        after = named[-1][1] if named else len(tokens)
        follower = after + (after < len(tokens) and plain_word(tokens[after].text) in _AND)
        if follower >= len(tokens):
            return
        if not _LIST.fullmatch(text, tokens[after - 1].outer_end, tokens[follower].outer_start):
            return
        target = follower


def mention_before(text: str, tokens: Sequence[Token], place: int) -> Mention | None:
    """Return the weak mention of the words before an English cue: ``login`` in "the login function"."""
    word = plain_word(tokens[place].text)
    if tokens[place].quote or word not in _CUES_AFTER | _HEADING_CUES_AFTER:
        return None
    begin = place
    while begin > 0 and place - begin < MAX_NAME_WORDS and tokens[begin].glued and _names_something(tokens[begin - 1]):
        if plain_word(tokens[begin - 1].text) in _QUALIFYING_IN_ENGLISH:
            break
        begin -= 1
    if begin == place:
        return None
    runs = [tokens[start:place] for start in range(begin, place)]
    if word in _HEADING_CUES_AFTER:
        return _spanning(text, runs, heading_name, weak=True)
    return _spanning(text, runs, _NAMED_BY[_KINDS[word]], weak=True)


def with_words_before(text: str, tokens: Sequence[Token], place: int, file: Mention) -> Mention:
    """Return the mention of a file whose name may have spaces (``Contrato Acme.pdf``), longest name first."""
    runs: list[Sequence[Token]] = []
    for number in range(1, MAX_NAME_WORDS + 1):
        if place < number or not tokens[place - number + 1].glued or tokens[place - number].quote:
            break
        before = tokens[place - number].text
        if any(not mention.weak for mention in shaped(tokens[place - number])):
            break
        if has_content(before) or before.isdecimal():
            runs.append(tokens[place - number : place + 1])
    if not runs:
        return file
    runs.reverse()
    longer = _spanning(text, runs, file_name, weak=False)
    spans = (*longer.spans, *((file.start, file.end) for _ in file.names))
    return replace(
        file, text=text[longer.start : file.end], start=longer.start, names=(*longer.names, *file.names), spans=spans
    )


def _target(text: str, tokens: Sequence[Token], place: int) -> tuple[int | None, bool]:
    """Return the index of a cue's name, and whether a preposition precedes it."""
    joined = False
    for target in range(place, min(place + 4, len(tokens))):
        before, token = tokens[target - 1], tokens[target]
        if token.outer_start < before.outer_end or not _GAP.fullmatch(text, before.outer_end, token.outer_start):
            return None, joined
        word = plain_word(token.text)
        if token.quote or word not in _JOINING | _CALLING:
            return target, joined
        joined = joined or word in _JOINING
    return None, joined


def _named(
    text: str, cue: Cue, tokens: Sequence[Token], target: int, *, english: bool
) -> Iterator[tuple[Mention, int]]:
    token = tokens[target]
    if _is_plain(token):
        yield from _plain_names(text, cue, tokens, target, weak=False, english=english)
        return
    mentions = shaped(token)
    if mentions and (mentions[0].folders or mentions[0].extension):
        yield from ((mention, target + 1) for mention in mentions)
        return
    name = token.text.rstrip("()")
    if not any(character.isalpha() for character in name):
        return
    mention = file_mention(token, name) if cue is Cue.FILE else symbol_mention(token, "".join(name.split()))
    of_file = ("file:", "stem:")
    names = [name for name in mention.names if name.startswith(of_file) is (cue is Cue.FILE)]
    yield replace(mention, text=token.text, end=token.end, names=distinct(*names)), target + 1


def _plain_names(
    text: str, cue: Cue, tokens: Sequence[Token], target: int, *, weak: bool, english: bool = True
) -> Iterator[tuple[Mention, int]]:
    is_sentence = english and plain_word(tokens[target].text) in _QUALIFYING_IN_ENGLISH
    if is_sentence or not _names_something(tokens[target]) or cue_of(tokens[target]) is not None:
        return
    end = target + 1
    while end < len(tokens) and end - target < MAX_NAME_WORDS and tokens[end].glued and _continues(tokens[end]):
        end += 1
    runs = [tokens[target:after] for after in range(end, target, -1)]
    yield _spanning(text, runs, _NAMED_BY[cue], weak=weak), target + 1


def _heading(text: str, tokens: Sequence[Token], place: int, target: int) -> Iterator[tuple[Mention, int]]:
    first = tokens[target]
    if first.quote:
        yield _spanning(text, [[first]], heading_name, weak=False), target + 1
        return
    if not first.text[0].isalpha() or not (has_content(first.text) or first.text[0].isupper()):
        return
    end = target
    runs: list[Sequence[Token]] = []
    while end < len(tokens) and end - target < MAX_HEADING_WORDS and (end == target or tokens[end].glued):
        if tokens[end].quote or tokens[end].called:
            break
        end += 1
        if _continues(tokens[end - 1]):
            runs.insert(0, tokens[target:end])
    if not runs:
        return
    mention = _spanning(text, runs, heading_name, weak=False)
    label = plain_word(tokens[place].text)
    if label.startswith(_WITH_LABEL):
        labelled = [heading_name(f"{label} {text[start:end]}") for start, end in mention.spans]
        mention = replace(mention, names=(*labelled, *mention.names), spans=(*mention.spans, *mention.spans))
    yield mention, target + _is_plain(first)


def _is_plain(token: Token) -> bool:
    """Return whether a token is an ordinary word: not quoted, called or written as in code."""
    return token.is_word and all(mention.weak for mention in shaped(token))


def _names_something(token: Token) -> bool:
    """Return whether a word next to a cue may be a name, such as ``close`` or ``get``."""
    return token.is_word and bool(content_words(token.text)) and plain_word(token.text) not in _QUALIFYING


def _continues(token: Token) -> bool:
    return not token.quote and (token.text.isdecimal() or has_content(token.text))


def _spanning(text: str, runs: Sequence[Sequence[Token]], named: Callable[[str], str], *, weak: bool) -> Mention:
    """Return one mention with the names of all the runs of words."""
    spans = {named(" ".join(token.text for token in run)): (run[0].start, run[-1].end) for run in runs}
    start, end = min(span[0] for span in spans.values()), max(span[1] for span in spans.values())
    return Mention(
        text=text[start:end], start=start, end=end, names=tuple(spans), weak=weak, spans=tuple(spans.values())
    )


_NAMED_BY: Mapping[Cue, Callable[[str], str]] = MappingProxyType(
    {Cue.FILE: lambda words: stem_name(f"{words}.x"), Cue.SYMBOL: symbol_name, Cue.HEADING: heading_name}
)
