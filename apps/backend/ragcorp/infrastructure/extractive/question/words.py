"""Words that ask or only help to ask, and say nothing of what is asked for: no text is evidence for holding them."""

from __future__ import annotations

import re

from ragcorp.domain.text.folding import folded_in_place

# in stop word lists they stand without their accents, if at all
_BY_LANGUAGE = {
    "es": "que cual cuales cuanto cuanta cuantos cuantas cuando donde adonde quien quienes como segun",
    "en": "what which who whom whose when where why how much many",
    "pt": "qual quais quanto quanta quantos quantas quando onde quem",
    "fr": "quel quelle quels quelles combien quand qui comment pourquoi",
    "it": "quale quali quanti quante dove chi perche",
    "de": "was welche welcher welches wer wann wo warum wie viel viele",
    "ca": "quin quina quins quines quan on qui com",
}
QUESTION_WORDS = frozenset(word for words in _BY_LANGUAGE.values() for word in words.split())

# verbs and particles that a stop word list lacks, or that stand in another language than the document
_HELPING = {
    "es": """
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
    """,
    "en": """
        a about after an and any are as at be been before being by can could did do does due for from get gets
        got had has have he her his i if in into is it its may mean means might most must my no not of on or our
        out same shall she should so than that the their then there these they this those to until us want was
        we were will with without would you your
    """,
    "pt": """
        ao aos as com da das de deve do dos e em esta estao foi ha ja meu minha na nas no nos nossa nosso o
        os ou para pela pelo pode por posso sao se sem ser sera seu sua tem ter um uma umas uns
    """,
}
HELPING_WORDS = frozenset(word for words in _HELPING.values() for word in words.split())

_IDIOM = re.compile(
    r"\b(?:me|te|le|nos|les) (?:salen?|sali[oó]|aparecen?|da|dan)\b|(?<=cu[aá]nto )sale\b", re.IGNORECASE
)
"""Verbs that say something else by themselves: "me sale un error", "cuánto sale"."""

_TOKEN = re.compile(r"\w+(?:[-./]\w+)*")


def without_question_words(question: str) -> str:
    """Return the question without them; all other characters, codes among them, stay as they are.

    What holds nothing else (a greeting) is looked for as it is.
    """
    left = _TOKEN.sub(lambda word: " " if _says_nothing(word.group()) else word.group(), _IDIOM.sub(" ", question))
    asks = all(folded_in_place(word) in QUESTION_WORDS for word in _TOKEN.findall(question))
    return left if asks or _TOKEN.search(left) else question


def _says_nothing(word: str) -> bool:
    plain = folded_in_place(word)
    # a capital letter alone is a name: model M, zone A
    return plain in QUESTION_WORDS or (plain in HELPING_WORDS and not (len(word) == 1 and word.isupper()))
