"""Parses a question: the kinds of values it asks for, yes or no, its names, its words and phrases, and its parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.word_lists import word_set
from ragcorp.infrastructure.extractive.values import MONTHS, ValueKind, expected_kinds

QUESTION_WORDS = word_set("""
    que cual cuales cuanto cuanta cuantos cuantas cuando donde adonde quien quienes como segun
    what which who whom whose when where why how much many
    qual quais quanto quanta quantos quantas quando onde quem
    quel quelle quels quelles combien quand qui comment pourquoi
    quale quali quanti quante dove chi perche
    was welche welcher welches wer wann wo warum wie viel viele
    quin quina quins quines quan on qui com
""")
HELPING_WORDS = word_set("""
    a actualmente ahora al aparece aquel aun cada con concretamente da dan dar de debe deben deber debo
    decir del desde di dice dicen dime dolares e el en entre era es esa ese eso esta estaba establece estan
    estar estara este esto euro euros exactamente favor figura final finalmente fue fueron gracias ha haber
    habla habra hace haceis hacemos hacen hacer hago han hasta hay he hemos hizo hola indica ir la las le
    les llama llaman llamar lleva llevar lo los mas me mi mis muestra muy necesita necesitamos necesito no
    nos nuestra nuestras nuestro nuestros o para pasa pasar podemos poder podria por prevista previstas
    previsto previstos pude puede pueden puedes puedo queremos querer quiere quieren quiero recoge regula
    sabe saber sabes se sea seguir seguira ser sera seran si siempre significa significado significan sigue
    siguen sin sobre solo son su sus tan tanto tendra tendran tenemos tener tengo tenia tiene tienen toca
    tocado toco todavia trata tratan tuvo u un una unas unos va vamos van vas ve veces ven verdad vez vio
    voy y ya
    a about after an and any are as at be been before being by can could did do does due for from get gets
    got had has have he her his i if in into is it its may mean means might most must my no not of on or our
    out same shall she should so than that the their then there these they this those to until us want was
    we were will with without would you your
    ao aos as com da das de deve do dos e em esta estao foi ha ja meu minha na nas no nos nossa nosso o
    os ou para pela pelo pode por posso sao se sem ser sera seu sua tem ter um uma umas uns
""")
"""Verbs and particles that stop word lists lack, or that belong to another language than the document's."""

_IDIOM = re.compile(
    r"\b(?:me|te|le|nos|les) (?:salen?|sali[oó]|aparecen?|da|dan)\b|(?<=cu[aá]nto )sale\b", re.IGNORECASE
)
"""Verbs with another meaning: "me sale un error", "cuánto sale"."""

_TOKEN = re.compile(r"\w+(?:[-./]\w+)*")

_FOCUS = re.compile(
    r"(?:que|cual(?:es)?(?: (?:es|son|fue|era|sera))?(?: (?:el|la|los|las))?|cuant[oa]s|how many|which|"
    r"quien(?:es)? (?:es|son|fue|era|sera) (?:el|la|los|las)|who (?:is|was) the|"
    r"what(?: (?:is|are|was))?(?: the)?|qual e [oa]|que)\s+([^\W\d_]{3,})"
)
LOOSE_FOCUS = word_set(
    "ciudad pais lugar sitio localidad tipo clase parte cosa significa dia fecha hora numero codigo "
    "importe cantidad persona nombre tiempo plazo antelacion preaviso duracion periodo precio coste costo "
    "valor version metros kilos kilometros litros grados date number code time day city country kind "
    "minimum price cost amount porcentaje percentage mes meses month dias fechas horas "
    "veces semanas ano año anos años minutos "
)
"""Nouns that a value of the expected kind replaces, or that say little."""

_CLAUSE = re.compile(
    r"\b(?:que|cual|en que|which|what)\b[^?]{0,20}\b"
    r"(?:clausula|articulo|apartado|estipulacion|clause|article|section)\b"
)
_WORD = re.compile(r"[^\W_]+(?:[-./'][^\W_]+)*%?")
_ALWAYS = r"cual(?:es)?|cuant[oa]s?|what|which|who|whom|whose|when|where|how|quanto|quanta|quantos|quantas|qual|quais"
_AT_HEAD = r"(?:por )?que|quien(?:es)?|donde|adonde|cuando|como|quem|onde|quando"
_PREPOSITION = r"(?:a|ante|con|de|desde|en|entre|hasta|para|por|segun|sobre|em|com|ate)"
_ASKS = re.compile(
    rf"\b(?:{_ALWAYS})\b|(?:^|[¿,.;:?]|\b[ye]\b)\W{{0,4}}(?:{_PREPOSITION}\s+)?(?P<head>(?:{_AT_HEAD})\b)|"
    rf"^\W{{0,4}}{_PREPOSITION}\s+(?:\w+\s+){{0,3}}{_PREPOSITION}\s+(?P<inner>que\b)"
)
_ACCENTED = re.compile(r"\b(?:qué|cuál(?:es)?|cuánt[oa]s?|cuándo|quién(?:es)?|dónde|cómo)\b", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"\b(?:cada|a|con)\s+$")
"""Words before the question word that change its meaning: how often, to whom."""

_WORDS_AFTER = re.compile(r"\W*\w+\W+\w")
_PART = re.compile(
    r",?\s+(?:y|and|e)\s+(?=(?:a |con |de |en |por |para |desde |hasta |in |with )?"
    r"(?:que|cual(?:es)?|cuant\w+|cuando|quien(?:es)?|donde|como|what|which|who|when|where|how)\b)"
)
_VERB_FIRST = re.compile(r"^\W*(?:se )?(?:puedo|puede|pueden|podemos|hay|es|esta|tiene|tengo|debe|existe)\b")
_AUXILIARY = re.compile(r"^\W*(?:is|are|was|were|do|does|did|can|could|may|must|will|would|has|have|should)\b")


_OPENING = word_set("y e o ni and but or so pero mas entonces tambien also")
_OR_PRONOUNS = word_set("el la los las o os as")
"""After a noun they are pronouns, or begin another noun phrase: then the sentence has a verb."""
_ARTICLES = _OR_PRONOUNS | word_set(
    "un una unos unas su sus mi mis tu tus nuestro nuestra nuestros nuestras ese esa esos esas otro otra otros "
    "otras um uma seu sua seus suas meu minha al del ao aos da do das dos na nas pelo pela cada an these those"
)
_ENGLISH = word_set("the its their his her our your my")
_PREPOSITIONS = word_set(
    "a de en con para por sin sobre entre hasta desde segun em com ate of for in on with from to by at about"
)
_NOUNS = word_set(
    "precio coste costo importe tarifa plazo fecha horario duracion vigencia vencimiento penalizacion multa fianza "
    "garantia descuento telefono correo direccion numero codigo responsable titular proveedor porcentaje preaviso "
    "antelacion ubicacion preco prazo valor price cost fee date deadline discount penalty warranty phone address"
)
"""They need no article."""

_ADJECTIVE = re.compile(
    r"\w+(?:al|ales|arios?|ivos?|osos?|bles?|mente|rior(?:es)?|yor(?:es)?|nor(?:es)?|jor(?:es)?)|\w{2,}[ai]d[oa]s?"
    r"|\w{3,}(?:arias?|[ts]ivas?|osas?)|(?:max|min|ult|prox|opt)im[oa]s?|vigentes?|(?:si|correspond|pend)\w*ientes?"
    r"|(?:nuev|economic|tecnic|juridic|electronic|basic|unic|complet|fij|net|brut|medi)[oa]s?"
)
_NOUN_WORD = re.compile(r"\w+(?:[-./&]\w+)*")
_MARKED = re.compile(r"[^?\uff1f]*[?\uff1f]")

_IDENTIFIER = re.compile(r"(?<!\w)(?=[\w./-]{0,80}\d)(?=[\w./-]{0,80}[^\W\d_]|\d+[./-]\d)[\w]+(?:[./-]\w+)*")
_AMOUNT = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d+,\d+")
_NUMBERED = re.compile(r"([^\W\d_]{2,})\s+(\d{1,2})\b(?![-/.,]?\w|\s+[^\W\d_]{2,}s\b)")
"""A number before a plural counts it, whatever the word before: exige 15 noches."""

_NUMBER_OF = re.compile(r"(?<![\w./,-])(\d[\d.,]*)\s+([^\W\d_]{2,})")
_LONG_NUMBER = re.compile(r"(?<![\w./,-])\d{3,}(?![-/.,]?\w)")
_EURO_SIGN = re.compile(r"(\d)\s?€")
_CURRENCIES = frozenset({"euro", "euros", "dolares"})
_YEAR = re.compile(r"(?:19|20)\d{2}")
_DIGITS = re.compile(r"(?<!\w)\d[\d.,]*(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A parsed question. ``plain`` is its folded text; without ``kinds`` any sentence may answer.

    ``focus`` is the folded noun after the question word, unless a value of the expected kind takes its place.
    ``words`` go to the text analyser; ``phrases`` (folded: identifiers, numbers with a word) are matched as they are.
    """

    plain: str
    kinds: frozenset[ValueKind]
    names: tuple[str, ...]
    focus: str | None
    asks_yes_or_no: bool
    asks_clause: bool
    words: str
    phrases: tuple[str, ...]


def parse_question(text: str) -> Question:
    plain = folded_in_place(text)
    start = _asking_word(text, plain)
    noun_question = noun_question_of(text) if start is None else None
    asks_clause = _CLAUSE.search(plain) is not None
    words, phrases = _words_and_phrases(text, plain)
    return Question(
        plain=plain,
        kinds=frozenset() if asks_clause else _kinds(plain, start, noun_question),
        names=tuple(
            match.group()
            for match in _WORD.finditer(text)
            if _is_name(match.group(), match.start(), text) or folded_in_place(match.group()) in MONTHS
        ),
        focus=None if start is None else _focus(plain, start),
        asks_yes_or_no=_AUXILIARY.match(plain) is not None
        or (start is None and noun_question is None and ("?" in text or _VERB_FIRST.match(plain) is not None)),
        asks_clause=asks_clause,
        words=words,
        phrases=phrases,
    )


def parts_of(text: str) -> list[str]:
    """Return the questions that ``text`` joins with "y" and a question word: at least one."""
    plain = folded_in_place(text)
    cuts = [match.span() for match in _PART.finditer(plain) if _WORDS_AFTER.match(plain, match.end())]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _asking_word(text: str, plain: str) -> int | None:
    """Return the offset of the question word: one with an accent, else one of ``_ALWAYS``, else one before a clause."""
    if accented := _ACCENTED.search(text):
        return accented.start()
    if certain := re.search(rf"\b(?:{_ALWAYS})\b", plain):
        return certain.start()
    match = _ASKS.search(plain)
    return match.start(match.lastgroup or 0) if match else None


def _kinds(plain: str, start: int | None, noun_question: str | None) -> frozenset[ValueKind]:
    if noun_question is not None:
        return expected_kinds(noun_question)
    start = start or 0
    if before := _WORD_BEFORE.search(plain[:start]):
        start = before.start()
    return expected_kinds(" ".join(plain[start:].split()))


def _focus(plain: str, start: int) -> str | None:
    match = _FOCUS.match(plain, start)
    noun = match.group(1) if match else ""
    return None if noun in HELPING_WORDS | LOOSE_FOCUS or not noun else noun


def _is_name(word: str, start: int, text: str) -> bool:
    """Return whether a word is capitalised inside a sentence, all in capitals, or has a digit."""
    if any(character.isdigit() for character in word) or (len(word) > 1 and word.isupper()):
        return True
    if word == "I":
        return False
    before = text[:start].rstrip(" ¿¡«“\"'(")
    return bool(before) and before[-1] not in ".?!:¿" and word[0].isupper()


def noun_question_of(text: str) -> str | None:
    """Return a noun question, folded, with its question word; None for other questions.

    Noun questions have no verb ("¿y el precio?") and never ask for yes or no. Without a dictionary, a lower-case word
    counts as a noun after an article or a preposition, and as an adjective by its ending.
    """
    match = _MARKED.match(text)
    words = _NOUN_WORD.findall(match.group().rpartition("¿")[2]) if match else []
    while words and _opens(words):
        words = words[1:]
    if not words:
        return None
    plain = folded_in_place(" ".join(words))
    if folded_in_place(words[0]) in _ENGLISH:
        return f"what is {plain}"  # an English question for yes or no begins with its verb
    return f"cual es {plain}" if _are_nouns(words) else None


def _opens(words: Sequence[str]) -> bool:
    """Return whether the first word is a conjunction; "o" before a noun is an article."""
    first, following = folded_in_place(words[0]), folded_in_place(words[1]) if len(words) > 1 else ""
    return first in _OPENING and (first != "o" or following in _ARTICLES)


def _are_nouns(words: Sequence[str]) -> bool:
    noun_follows = folded_in_place(words[0]) in _ARTICLES | _PREPOSITIONS | _NOUNS
    if not noun_follows:
        return False
    for number, word in enumerate(words):
        plain = folded_in_place(word)
        if plain in _OR_PRONOUNS and not noun_follows:
            return False
        if plain in _ARTICLES or plain in _PREPOSITIONS or (number and plain in _OPENING):
            noun_follows = True
        elif noun_follows:
            noun_follows = False
        elif not (word[0].isupper() or word[0].isdigit() or _ADJECTIVE.fullmatch(plain)):
            return False
    return True


def without_question_words(question: str) -> str:
    """Return the question without question and helping words; codes stay, and a greeting stays as it is."""
    left = _TOKEN.sub(lambda word: " " if _is_empty(word.group()) else word.group(), _IDIOM.sub(" ", question))
    asks = all(folded_in_place(word) in QUESTION_WORDS for word in _TOKEN.findall(question))
    return left if asks or _TOKEN.search(left) else question


def _is_empty(word: str) -> bool:
    plain = folded_in_place(word)
    # a single capital letter is a name: model M, zone A
    return plain in QUESTION_WORDS or (plain in HELPING_WORDS and not (len(word) == 1 and word.isupper()))


def _words_and_phrases(question: str, plain: str) -> tuple[str, tuple[str, ...]]:
    words = without_question_words(question)
    phrases = [
        match.group() for match in _IDENTIFIER.finditer(folded_in_place(words)) if not _AMOUNT.fullmatch(match.group())
    ]
    words = _IDENTIFIER.sub(lambda match: match.group() if _AMOUNT.fullmatch(match.group()) else " ", words)
    with_euros = _EURO_SIGN.sub(r"\1 euros", plain)
    phrases += [
        f"{word} {number}"
        for word, number in _NUMBERED.findall(with_euros)
        if word not in HELPING_WORDS | QUESTION_WORDS
    ]
    numbered = {phrase.rpartition(" ")[2] for phrase in phrases}
    phrases += [
        f"{number} {noun}"
        for number, noun in _NUMBER_OF.findall(with_euros)
        if number not in numbered and noun not in HELPING_WORDS - _CURRENCIES and not _YEAR.fullmatch(number)
    ]
    taken = {word for phrase in phrases if " " in phrase for word in phrase.split() if word[0].isdigit()}
    phrases += [
        number for number in _LONG_NUMBER.findall(with_euros) if number not in taken and not _YEAR.fullmatch(number)
    ]
    words = _DIGITS.sub(lambda match: match.group() if _YEAR.fullmatch(match.group()) else " ", words)
    return words, tuple(dict.fromkeys(phrases))
