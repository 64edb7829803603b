"""Relations between names: "the method close of Session", "clause 9 of lease.txt". Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragcorp.application.structure.mentions.shapes import Mention, bare, is_code_file, is_file
from ragcorp.application.structure.mentions.tokens import Token, plain_word
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.word_lists import word_set

MAX_GAP = 90
"""Maximum characters between a name and the file that a preposition binds it to."""

_OF = "del?|do|da|dos|das|of|from"
_IN = "en|in|inside|within|em|no|na|segun|dentro de"
_ARTICLES = "el|la|los|las|the|o|a|mi|my|este|esta|this|su|its|nuestro|nuestra|our"
_LEADING_AWAY = "con|que|a|al|para|por|to|with|for|y|and|o|or|es|is|se"
_KINDS_OF_TEXT = (
    "contrato|contract|agreement|acuerdo|convenio|documento|document|archivo|fichero|file|manual|guia|guide"
)
_AND = r"[,;&/]|y|e|o|u|and|or|con|with|vs|versus|contra"
_OPENING = r"[\s\"'`*(\[«\u201c\u201e\u2018<]{0,4}"
_CLOSING = r"[\s\"'`*)\]»\u201d\u2019>]{0,4}"
_LISTED = rf"(?:{_CLOSING}(?:[,;&]|\b(?:y|e|o|u|and|or)\b)\s{{1,2}}[\w.ªº`]{{1,60}}){{0,8}}"
_BINDING = re.compile(
    rf"{_LISTED}{_CLOSING},?\s{{0,2}}(?:(?P<of>\b(?:{_OF})\b)|\b(?:{_IN})\b)\s{{1,2}}(?:(?:{_ARTICLES})\s{{1,2}})?"
    rf"(?P<between>(?:(?!(?:{_LEADING_AWAY})\s)[\w.]{{1,40}}\s{{1,2}}){{0,2}}){_OPENING}"
)
_USED_IN = re.compile(rf"\b(?:{_IN})\s")
_OF_SOMETHING = re.compile(
    rf"\s{{1,2}}(?:{_OF})\s{{1,2}}(?:(?:{_ARTICLES})\s{{1,2}})?(?!(?:{_KINDS_OF_TEXT})\b)[\w\"'`«]"
)
_ADJACENT = re.compile(r"[\"'`*»\u201d]{0,2}\s?(?:\([\"'`*«\u201c]{0,2}|[\"'`*«\u201c]{0,2})")
_JOINING = re.compile(
    rf"{_CLOSING}(?:(?:{_AND}){_OPENING})(?:\s{{0,2}}(?:(?:la|el|the|that|one|{_OF}|{_IN}|{_ARTICLES})\s{{1,2}}){{0,3}})"
    rf"(?:[\w.]{{1,40}}\s{{1,2}})?{_OPENING}"
)
_KINDS = {
    EntityKind.METHOD: "metodo metodos method methods",
    EntityKind.FUNCTION: "funcion funciones funcao funcoes function functions func funcs def",
    EntityKind.CLASS: "clase clases classe classes class interfaz interfaces interface tipo tipos type types struct "
    "structs estructura enum",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_BEFORE_OWNERS = word_set(
    "el la los las the o a clase struct estructura tipo interfaz enum class type interface objeto"
)
_OWNING = frozenset({"de", "del", "do", "da", "of", "en", "in"})
_OF_CODE = word_set("""
    bug bugs fix refactor refactoriza refactorizar refactoring codigo code codebase implementa implementar
    implementacion implement implements implemented implementation endpoint endpoints backend frontend debug debugging
    depura depurar stacktrace traceback exception excepcion compila compilar compile commit repo repository repositorio
    script scripts callback handler parser parametro parametros parameter parameters api
    funcion funciones metodo metodos simbolo funcao funcoes function functions func funcs method methods class struct
    structs enum decorador constructor decorator def module modulo
""")


def kinds_of(cue: str) -> frozenset[EntityKind]:
    """Return the entity kind of a cue: method for "método"; empty, for any, where the cue is general ("símbolo")."""
    kind = _KIND_OF.get(plain_word(cue))
    return frozenset({kind}) if kind else frozenset()


def with_owner(text: str, tokens: Sequence[Token], after: int, mention: Mention) -> Mention:
    """Return a symbol with the owner that follows it: ``Session`` in "close de Session"."""
    if after >= len(tokens) or plain_word(tokens[after].text) not in _OWNING or not tokens[after].glued:
        return mention
    place = after + 1
    while place < len(tokens) and tokens[place].glued and plain_word(tokens[place].text) in _BEFORE_OWNERS:
        place += 1
    if place >= len(tokens) or text[tokens[place - 1].outer_end : tokens[place].outer_start].strip():
        return mention
    owner = tokens[place]
    if is_file(owner.text) or len(owner.text.split()) > 1 or not bare(owner.text):
        return mention
    parts = tuple(bare(word) for word in re.split(r"::|->|[./\\#]", owner.text) if bare(word))
    return replace(mention, owners=parts, owner_span=(owner.start, owner.end))


def speaks_of_code(tokens: Sequence[Token], strong: Iterable[Mention]) -> bool:
    """Return whether a query is about code: a technical term, a name in code, a source file, or a single word."""
    if len(tokens) == 1 or any(not token.quote and plain_word(token.text) in _OF_CODE for token in tokens):
        return True
    return any(
        is_code_file(item.text) if item.extension else item.names[0].startswith("symbol:") and not item.weak
        for item in strong
    )


def bound_to_files(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions with the files that the words between bind each to: "clauses 3 and 4 of a.md and b.md"."""
    files = [mention for mention in mentions if _names_a_file(mention)]
    if not files:
        return list(mentions)
    folded = folded_in_place(text)
    loose = [mention.weak or mention in files for mention in mentions]
    return [mention if free else _bound(folded, mention, files) for mention, free in zip(mentions, loose, strict=True)]


def _bound(text: str, mention: Mention, files: Sequence[Mention]) -> Mention:
    if mention.qualifiers and any(_is_member(mention, file) for file in files):
        return mention
    for number, file in enumerate(files):
        bound = {
            place: owned
            for place in _spans(file)
            if mention.end <= place[0] <= mention.end + MAX_GAP
            and (owned := _binds(text[mention.end : place[0]], adjacent=bool(file.extension))) is not None
        }
        if bound:
            places = (*bound, *_listed(text, file.end, files[number + 1 :]))
            return replace(mention, files=places, owned=any(bound.values()))
    return replace(mention, owned=_OF_SOMETHING.match(text, mention.end) is not None)


def _binds(gap: str, *, adjacent: bool) -> bool | None:
    """Return whether the text between a name and a file is an "of"; None if it does not bind them."""
    if adjacent and gap and _ADJACENT.fullmatch(gap):
        return True
    binding = _BINDING.fullmatch(gap)
    return None if not binding else bool(binding["of"]) and not _USED_IN.search(binding["between"])


def _listed(text: str, end: int, files: Sequence[Mention]) -> list[tuple[int, int]]:
    """Return the places of the files that are listed after one that ends there."""
    places: list[tuple[int, int]] = []
    for file in files:
        joined = [
            place
            for place in _spans(file)
            if end <= place[0] <= end + MAX_GAP and _JOINING.fullmatch(text[end : place[0]])
        ]
        if not joined:
            break
        places += joined
        end = file.end
    return places


def _spans(file: Mention) -> list[tuple[int, int]]:
    """Return the spans of the possible names of a file, the shortest first."""
    return sorted(set(file.spans) or {(file.start, file.end)}, reverse=True)


def _names_a_file(mention: Mention) -> bool:
    """Return whether a mention surely names a file, or is a compound word that may be the stem of one."""
    if mention.word is not None or not any(name.startswith(("file:", "stem:")) for name in mention.names):
        return False
    if mention.extension or (not mention.weak and mention.names[0].startswith(("file:", "stem:"))):
        return True
    return mention.weak and re.fullmatch(r"[^\s/\\.:]*[-_][^\s/\\:]*", mention.text) is not None


def _is_member(mention: Mention, file: Mention) -> bool:
    """Return whether a mention is written as a member of a file: ``auth.go::login``."""
    return file.end < mention.start <= file.end + 2
