"""Classifies tokens by their shape or quotation marks: file, symbol or code. Pure."""

import re
from dataclasses import dataclass, replace

from ragcorp.application.structure.mentions.tokens import Token
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.domain.text.entity_names import file_name, heading_name, identifier_name, is_empty, stem_name, symbol_name
from ragcorp.domain.text.word_lists import word_set

MAX_QUALIFIED = 3
"""Lookup names of a qualified symbol: all parts, the last two, the last."""

MIN_LETTERS = 3
"""Minimum letters of a code that may also name a file or symbol."""

MIN_KEBAB = 5

_EXTENSIONS = word_set("""
    py pyi ipynb js mjs cjs jsx ts mts cts tsx vue svelte go rs rb java kt kts scala c h cc cpp cxx hpp cs swift m php
    lua pl r jl sh bash zsh fish ps1 bat sql graphql proto tf hcl toml yaml yml json jsonl json5 ini cfg conf env lock
    xml xsd html htm css scss sass less md mdx rst adoc txt text log csv tsv parquet pdf doc docx odt rtf xls xlsx xlsm
    ods ppt pptx odp eml msg epub tex bib png jpg jpeg gif svg webp zip tar gz diff patch gradle mod sum
""")
_CODE = word_set("py pyi js mjs cjs jsx ts mts cts tsx go rs rb java kt c h cc cpp cs swift php lua sh sql")
_BARE_FILES = frozenset({"makefile", "dockerfile", "jenkinsfile", "procfile", "gemfile", "rakefile", "vagrantfile"})
_LINE = re.compile(r"(?::\d{1,6}){1,2}$|#L\d{1,6}(?:-L?\d{1,6})?$")
_MEMBER = re.compile(r"::|#|->|:")
_DIGITS_JOINED = re.compile(r"\d{4,8}(?:[-_]\d{2,8}){1,3}")
"""A file name of numbers only: ``2024-0031``."""
_SLASH = re.compile(r"[/\\]+")
_DRIVE = re.compile(r"^[A-Za-z]:(?=[\\/])")
_EXTENSION = re.compile(r".\.([A-Za-z][A-Za-z0-9]{0,9})$")
_NAME = re.compile(r"[^\W\d]\w*")
_HUMP = re.compile(r"[^\W\d_A-ZÁÉÍÓÚÑ][A-ZÁÉÍÓÚÑ]|[A-ZÁÉÍÓÚÑ]{2}[^\W\d_A-ZÁÉÍÓÚÑ]{2}|[^\W\d_]\d+[A-ZÁÉÍÓÚÑ][^\W\d_]")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+[a-z]{0,5}\d*", re.IGNORECASE)
_UNITS = word_set("""
    h hs hr hrs hora horas min mins s seg ms km cm mm m m2 m3 kg g gr mg l ml k kb mb gb tb b eur usd x st nd rd th er
    ro ra do da to ta vo va no na mo ma a o p px pt w kw kwh v hz mhz ghz am pm d dias y u c f ºc e
""")
_QUANTITY = re.compile(r"[\d.,:/-]{1,12}?([^\W\d_]{1,5})(?:\d?)")
_BLANK_QUALIFIERS = frozenset({"self", "this", "cls", "super", "me"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A span of a query that names something, with the stored names to look up, likeliest first.

    Offsets refer to the query in NFC. Folders, extension, qualifiers and owners are folded.

    spans: the span of each name, where they differ
    weak: it counts only for a unique name, and with ``word`` only if few chunks contain that word
    folders, rooted, extension: of a path
    qualifiers: what contains a symbol: folders, a file or its stem, classes
    outer: stored names of the classes to use where the last part of a qualified name is unknown
    kinds, owners, owner_span: from the surrounding words ("método close de Session"); they break ties
    files: spans of the files that a preposition binds it to
    owned: that preposition is "of"; without ``files``, of something else
    code: the query is about code
    """

    text: str
    start: int
    end: int
    names: tuple[str, ...]
    weak: bool = False
    word: str | None = None
    folders: tuple[str, ...] = ()
    rooted: bool = False
    extension: str = ""
    qualifiers: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    outer: tuple[str, ...] = ()
    kinds: frozenset[EntityKind] = frozenset()
    owners: tuple[str, ...] = ()
    owner_span: tuple[int, int] | None = None
    files: tuple[tuple[int, int], ...] = ()
    owned: bool = False
    code: bool = False

    def span_of(self, name: str) -> tuple[int, int]:
        """Return the span of one of the names."""
        return self.spans[self.names.index(name)] if self.spans else (self.start, self.end)

    def written(self, name: str) -> str:
        start, end = self.span_of(name)
        return self.text[start - self.start : end - self.start]


def part(text: str) -> str:
    """Return a folder or file without case and accents, for comparison."""
    return file_name(text).partition(":")[2]


def bare(text: str) -> str:
    """Return the letters and digits of a name, for comparison of symbols and stems."""
    return symbol_name(text).partition(":")[2]


def distinct(*names: str) -> tuple[str, ...]:
    """Return the names without duplicates and empty ones."""
    return tuple(name for name in dict.fromkeys(names) if not is_empty(name))


def shaped(token: Token) -> tuple[Mention, ...]:
    """Return the mentions of a token; none for plain words, numbers, dates, amounts and versions."""
    text = _LINE.sub("", token.text)
    if not any(character.isalpha() and character not in "ºª" for character in text) or _is_quantity(text):
        return (_stem(token, text),) if _DIGITS_JOINED.fullmatch(text) and not token.quote else ()
    if token.quote:
        return _quoted(token, text)
    if member := _member(token, text):
        return member
    if is_file(text) or _is_path(text):
        return (file_mention(token, text),)
    if any(character.isdigit() for character in text) and not token.called:
        return (*_code(token, text), *_labelled(token, text))
    if "/" in text or "\\" in text:
        return (file_mention(token, text, weak=True),)
    strong = token.called or is_symbol(text)
    if strong or _is_kebab(text):
        return (symbol_mention(token, text, weak=not strong),)
    return ()


def is_file(text: str) -> bool:
    """Return whether a text ends like a file name."""
    last = _SLASH.split(text)[-1]
    match = _EXTENSION.search(last)
    if match is None:
        return last.lower() in _BARE_FILES
    extension = match[1].lower()
    return extension in _EXTENSIONS and len(last) - len(extension) > 1 + (len(extension) == 1)


def is_code_file(text: str) -> bool:
    return text.rpartition(".")[2].lower() in _CODE


def is_symbol(text: str) -> bool:
    """Return whether a text is written like a name in code: ``a_b``, ``aB``, ``__a__``, ``A.b``, ``a::b``."""
    text = text.lstrip("$@")
    if "." in text or _MEMBER.search(text):
        pieces = _pieces(text)
        return (
            len(pieces) > 1
            and all(_NAME.fullmatch(piece) for piece in pieces)
            and any(len(piece) > 2 for piece in pieces)
            and (len(pieces[-1]) > 1 or "_" in text)
        )
    if not _NAME.fullmatch(text):
        return "-" in text and "_" in text and text[0] != "-"
    if "_" in text.strip("_") or (text.startswith("_") and len(text.strip("_")) > 1):
        return True
    acronyms = text[:-1].isupper() and text[-1] == "s"
    return len(text) > 3 and not acronyms and _HUMP.search(text) is not None


def file_mention(token: Token, text: str, *, weak: bool = False) -> Mention:
    """Return the mention of a file by its path or name."""
    steps = [step for step in _SLASH.split(_DRIVE.sub("", text)) if step not in {"", ".", "..", "~"}]
    last = steps[-1] if steps else text
    extension = match[1].lower() if (match := _EXTENSION.search(last)) and is_file(last) else ""
    names = (file_name(last), stem_name(last)) if extension else (file_name(last), stem_name(f"{last}.x"))
    code = (identifier_name(text),) if not extension and any(character.isdigit() for character in text) else ()
    return Mention(
        text=text,
        start=token.start,
        end=token.start + len(text),
        names=distinct(*names, *code),
        weak=weak,
        folders=tuple(part(step) for step in steps[:-1]),
        rooted=text[:1] in {"/", "\\", "~"} or _DRIVE.match(text) is not None,
        extension=extension,
    )


def symbol_mention(token: Token, text: str, *, weak: bool = False, container: tuple[str, ...] = ()) -> Mention:
    """Return the mention of a symbol; outside a container also of a file with that stem, as second choice."""
    start = token.start + len(text) - len(text.lstrip("$@"))
    text = text.lstrip("$@")
    pieces = _pieces(text)
    while len(pieces) > 1 and bare(pieces[0]) in _BLANK_QUALIFIERS:
        pieces = pieces[1:]
    tails = [".".join(pieces[-length:]) for length in {len(pieces), 2, 1} if length <= len(pieces)]
    names = [symbol_name(tail) for tail in sorted(tails, key=len, reverse=True)][:MAX_QUALIFIED]
    if not container and not token.called:
        names += [file_name(text), stem_name(f"{text}.x")] if "." in text else [stem_name(f"{text}.x")]
    return Mention(
        text=text,
        start=start,
        end=start + len(text),
        names=distinct(*names),
        weak=weak,
        qualifiers=(*container, *(bare(piece) for piece in pieces[:-1] if bare(piece))),
        outer=distinct(symbol_name(pieces[-2])) if len(pieces) > 1 and pieces[-2][:1].isupper() else (),
    )


def _quoted(token: Token, text: str) -> tuple[Mention, ...]:
    words = text.split()
    is_one_word = len(words) == 1
    if is_one_word and (member := _member(token, text)):
        return member
    if is_file(text) or (is_one_word and ("/" in text or "\\" in text)):
        return (file_mention(token, text),)
    symbol, heading, stem = symbol_name("".join(words)), heading_name(text), stem_name(f"{text}.x")
    code = [identifier_name(text)] if any(character.isdigit() for character in text) else []
    names = [*code, symbol, stem, heading] if token.quote == "`" else [*code, heading, symbol, stem]
    if is_one_word and len(_pieces(text.rstrip("()"))) > 1:
        inner = symbol_mention(token, text.rstrip("()"))
        return (replace(inner, text=text, start=token.start, end=token.end, names=distinct(*inner.names, *names)),)
    return (Mention(text=text, start=token.start, end=token.end, names=distinct(*names)),)


def _member(token: Token, text: str) -> tuple[Mention, ...]:
    """Return the mentions of a file and of a symbol in it (``auth.go::login``, ``src/auth.py:Session.close``)."""
    drive = 2 if _DRIVE.match(text) else 0
    match = _MEMBER.search(text, drive)
    if not match or not (is_file(text[: match.start()]) or _is_path(text[: match.start()])):
        return ()
    file = file_mention(token, text[: match.start()])
    name = text[match.end() :]
    pieces = _pieces(name)
    if not pieces or not all(_NAME.fullmatch(piece.strip("()")) for piece in pieces):
        return (file,)
    start = token.start + match.end()
    inner = Token(text=name, start=start, end=start + len(name), outer_start=start, outer_end=token.outer_end)
    within = (*file.folders, part(_SLASH.split(file.text)[-1]))
    return (file, symbol_mention(inner, name.rstrip("()"), container=within))


def _code(token: Token, text: str) -> tuple[Mention, ...]:
    """Return the mention of a code (``FAC-2024-0113``), and a weak one of a symbol (``sha256``)."""
    letters = sum(character.isalpha() for character in text)
    if _VERSION.fullmatch(text) or len(text) < 2 or not letters or text[0] in "$@":
        return ()
    code = Mention(text=text, start=token.start, end=token.start + len(text), names=distinct(identifier_name(text)))
    if "_" in text.strip("_"):
        named = is_symbol(text)
        return ((symbol_mention(token, text),) if named else (_stem(token, text),)) + (
            (code,) if text[0] != "_" else ()
        )
    if _NAME.fullmatch(text) or is_symbol(text):
        humps = is_symbol(text)
        return (code, symbol_mention(token, text, weak=not humps))
    if letters < MIN_LETTERS:
        return (code,)
    return (code, symbol_mention(token, text, weak=True) if text[0].isalpha() else _stem(token, text))


def _labelled(token: Token, text: str) -> tuple[Mention, ...]:
    """Return the mentions of the code after a label: ``REF:AB-12``."""
    label, _, code = text.rpartition(":")
    if not label.isalpha() or not any(character.isdigit() for character in code):
        return ()
    start = token.start + len(label) + 1
    return shaped(Token(text=code, start=start, end=start + len(code), outer_start=start, outer_end=token.outer_end))


def _stem(token: Token, text: str) -> Mention:
    """Return the weak mention of a file by its name without an extension: ``01-introduccion``, ``contrato_v1.2``."""
    names = distinct(file_name(text), stem_name(f"{text}.x"))
    return Mention(text=text, start=token.start, end=token.start + len(text), names=names, weak=True)


def _is_quantity(text: str) -> bool:
    match = _QUANTITY.fullmatch(text)
    digits = sum(character.isdigit() for character in text)
    return match is not None and text[0].isdigit() and match[1].lower() in _UNITS and digits <= 6


def _is_path(text: str) -> bool:
    """Return whether a text without an extension must be a path: two slashes, or one at its start."""
    steps = _SLASH.split(text)
    if len(steps) < 2 or not all(re.search(r"\w", step) for step in steps[1:]):
        return False
    named = all(re.fullmatch(r"[\w.@~+ -]*", step) for step in steps) and any(step.isidentifier() for step in steps[1:])
    return named and (len(steps) > 2 or text[0] in "./\\~" or "_" in text)


def _is_kebab(text: str) -> bool:
    pieces = text.split("-")
    long = sum(len(piece) > 1 for piece in pieces)
    return len(pieces) > 1 and long > 0 and len(text) > MIN_KEBAB and all(piece.isalpha() for piece in pieces)


def _pieces(text: str) -> list[str]:
    return [piece for piece in re.split(r"::|->|[.#:]", text) if piece]
