"""Classifies an utterance as small talk, question or statement. Pure, by rules; Spanish, English and Portuguese."""

import re
from enum import StrEnum

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.word_lists import word_set


class UtteranceKind(StrEnum):
    """``SMALL_TALK``: thanks, a greeting, yes or no, a word without content."""

    SMALL_TALK = "small_talk"
    QUESTION = "question"
    STATEMENT = "statement"


MAX_BARE = 3
"""At most this many words without a known verb are a query, not a statement."""

_EMPTY = word_set("""
    a ahi al algo alli ante aqui aquel aquella aquellas aquello aquellos como con cual cuales cuando cuanta cuantas
    cuanto cuantos de del desde donde e el ella ellas ello ellos en entre era es esa esas ese eso esos esta estas este
    esto estos fue ha hay la las le les lo los mas me mi mia mio mis mucho muy ni no nos nosotros o os para pero por
    porque pues que quien quienes se ser si sin sobre son su sus suya suyo tal tambien te ti tiene tienen tu tus tuya
    tuyo u un una unas uno unos usted ustedes y ya yo
    about am an and any are as at be been but by can could did do does for from had has have he her hers him his how i
    if in is it its me mine my no nor not of on or our she so than that the their theirs them then there these they
    this those to too us was we were what when where which who whom whose why will with would yes you your yours
    ao aos com da das dela dele do dos ela elas ele eles em essa essas esse esses eu isso isto mas meu minha na nao nas
    nela nele nem nos num onde ou pela pelo qual quais quando quanta quantas quanto quantos quem sao seu seus sim sua
    suas tem um uma umas uns voce voces
""")

_THANKS = (
    r"(?:(?:muchas|muchisimas|mil) )?gracias(?: de nuevo)?|thanks(?: (?:a lot|again))?|thank you(?: (?:so|very) much)?|"
    r"thx|(?:muito )?obrigad[oa]|valeu"
)
_COURTESY = rf"{_THANKS}|por favor|please|se faz favor"
_TALK = (
    rf"{_COURTESY}|hola|holi|buen[oa]s(?: (?:dias|tardes|noches))?|buen dia|adios|"
    r"hasta (?:luego|pronto|ma[nñ]ana|otra)|saludos|un saludo|que tal(?: (?:estas|todo|va))?|"
    r"como (?:estas|esta usted|va todo)|si|no|ya|claro(?: que si)?|"
    r"vale|venga|de acuerdo|ok(?:ay|ey)?|(?:muy|esta|todo) bien|bien|perfecto|genial|estupendo|fenomenal|excelente|"
    r"entendido|exacto|correcto|listo|nada(?: mas)?|de nada|perdon|lo siento|igualmente|encantad[oa]|jaja\w*|"
    r"hello|hi|hey|good (?:morning|afternoon|evening|night|day)|(?:good)?bye|see you(?: (?:later|soon))?|cheers|"
    r"how are you(?: doing)?|yes|yeah|yep|nope?|sure|great|cool|nice|perfect|"
    r"(?:right|fine)(?=[\W_]*(?:$|[,.;!]))|understood|got it|sorry|"
    r"you(?:'| a)re welcome|alright|all right|well|wow|lol|"
    r"ola|oi|bom dia|boa (?:tarde|noite)|tchau|ate (?:logo|amanha|mais)|tudo bem|sim|nao|certo|claro|entendi|otimo|"
    r"beleza|combinado|desculpe?a?"
)
_LEADING = re.compile(rf"^(?:[\W_]*(?:{_TALK})(?![\w'-]))+")
_TRAILING = re.compile(rf"(?:[\W_]+(?:{_COURTESY}))+[\W_]*$")
_THANKED = re.compile(rf"^[\W_]*(?:{_THANKS})\W+(?:por|for|pel[oa])\b")

_MARKS = frozenset("?¿\uff1f")
_QUESTION = re.compile(
    r"^[\W_]*(?:(?:y|e|and|but|so|pero|mas|entonces|then)\b\W*)*"
    r"(?:(?:a|ante|con|de|desde|en|entre|hasta|para|por|segun|sobre|em|com|ate|in|on|at|for|to|with|from|by|since)\s+)?"
    r"(?:que|cual(?:es)?|cuant[oa]s?|quien(?:es)?|donde|adonde|cuando|como|"
    r"what|which|who|whom|whose|when|where|why|how|o que|qual|quais|quant[oa]s?|quem|onde|quando|"
    r"is|are|was|were|do|does|did|can|could|may|must|will|would|should|has|"
    r"hay|existen?|pued(?:o|es?|en)|podemos|podrias?|sabes|me (?:dices|puedes|das|explicas|cuentas|gustaria saber)|"
    r"(?:quiero|quisiera|necesito|queria|quero|preciso) saber|i (?:want|need|would like) to know|i'd like to know|"
    r"(?:di|da|cuenta|explica|resume|busca|lista|ense[nñ]a|muestra|recuerda)(?:me|nos)|"
    r"explica|resume|busca|encuentra|lista|muestra|compara|enumera|describe|traduce|redacta|escribe|haz|"
    r"tell|show|list|find|explain|summari[sz]e|compare|give|remind|search|look up|write|translate|"
    r"diga|explique|resuma|resumo|liste|mostre|procure|busque|descreva)\b"
)
_STATES = re.compile(
    r"\b(?:soy|somos|estoy|estamos|tengo|tenemos|he|hemos|quiero|queremos|prefier[oe]n?|preferimos|necesito|vivo|vive|"
    r"trabaj[oa]|me|nos|mi|mis|voy|vamos|fui|fue|fueron|era|eran|es|son|esta|estan|ha|han|tienen?|sera|seran|"
    r"vencen?|cuestan?|llevan?|empiezan?|terminan?|llegan?|odi[oa]|gustan?|"
    r"i|am|is|are|was|were|has|have|had|my|we|our|prefers?|will|costs|lives|works|likes|expires|starts|ends|"
    r"eu|sou|estou|tenho|temos|quero|prefir[oe]|mor[oa]|meu|minha|vou|foi|sao|tem|custam?|trabalh[oa]|gost[oa])\b"
)
_NOUN_PHRASE = re.compile(
    r"^[\W_]*(?:(?:el|la|los|las|un|una|the|a|an|o|os|as)\s+)?[^\W\d_]+\s+"
    r"(?:de|del|da|do|das|dos|para|con|of|for|in|en|sobre|about)\b"
)
_SENTENCE = re.compile(r"[^.!?;\n…\uff1f]+[.!?;\n…\uff1f]*")
_WORD = re.compile(r"[^\W_]+")


def kind_of(text: str) -> UtteranceKind:
    """Return the kind; one sentence that states something makes the whole a statement."""
    if is_small_talk(text):
        return UtteranceKind.SMALL_TALK
    return (
        UtteranceKind.STATEMENT
        if any(_states(sentence) for sentence in _SENTENCE.findall(text))
        else UtteranceKind.QUESTION
    )


def is_small_talk(text: str) -> bool:
    """Return whether a text is neither question nor statement. "¿Y ella?" is a question without content words."""
    plain = folded_in_place(text)
    if not _is_marked(text) and _THANKED.match(plain):
        return True
    return not content_words(text) and (not _is_marked(text) or _LEADING.match(plain) is not None)


def without_courtesies(text: str) -> str:
    """Return the text without "hola", "vale" and the like at its start and "gracias" at its end."""
    begin = leading.end() if (leading := _LEADING.match(folded_in_place(text))) else 0
    end = trailing.start() if (trailing := _TRAILING.search(folded_in_place(text), begin)) else len(text)
    return text[begin:end]


def content_words(text: str) -> list[str]:
    """Return the content words in lower case without accents. "IT" among lower-case words is one."""
    shouted = text == text.upper()
    words = [(word, folded_in_place(word)) for word in _WORD.findall(without_courtesies(text)) if len(word) > 1]
    return [plain for word, plain in words if plain not in _EMPTY or (word.isupper() and not shouted)]


def _states(sentence: str) -> bool:
    if _is_marked(sentence) or is_small_talk(sentence):
        return False
    plain = folded_in_place(without_courtesies(sentence))
    if _QUESTION.match(plain):
        return False
    if _STATES.search(plain):
        return True
    if len(_WORD.findall(plain)) <= MAX_BARE:
        return False
    return sentence.rstrip().endswith((".", "!")) or _NOUN_PHRASE.match(plain) is None


def _is_marked(text: str) -> bool:
    return not _MARKS.isdisjoint(text)
