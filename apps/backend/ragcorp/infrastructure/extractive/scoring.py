"""Scores statements for one part of a question, and decides whether a statement answers it.

    score = (1 - VALUE) * ((1 - TOPIC) * coverage + TOPIC * topic) + VALUE * value + prior - penalty

coverage is over all terms of the part, anywhere in passage or document; topic over those that are not names, in or near
the statement; value is the strength of the expected kind of value in it (VALUE is 0 if no kind is expected);
prior = PRIOR / (1 + (rank - 1) / 4) for the passage's rank.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.infrastructure.extractive.question import Question
from ragcorp.infrastructure.extractive.statements import SIGNING, Cell, Statement
from ragcorp.infrastructure.extractive.terms import Candidate, Term, share
from ragcorp.infrastructure.extractive.values import ValueKind, found_values, is_cell_amount
from ragcorp.infrastructure.extractive.words import UNITS, listed, same_root

VALUE = 0.22
TOPIC = 0.3
PRIOR = 0.08
CODE = 0.16
FOCUS = 0.08
"""Added if the statement itself contains an identifier of the question, or its focus."""
DECIDES = 0.18
"""Added, for a question of yes or no, to a statement that begins with one of them."""
LENGTH = 0.05
"""Subtracted from a statement of 400 characters, and in proportion from others: long ones are less clear."""
OTHER_PART, OTHER_PART_NAME = 0.3, 0.6
"""Weight of a term of another part of the question, which may name the subject."""

FOLLOWING = 0.5
"""Strength of a value in the next statement."""
LOOSE = 0.4
"""Strength of a number that is not next to the counted noun."""

STRICT = frozenset(ValueKind) - {ValueKind.CODE, ValueKind.NAME, ValueKind.VERSION}
MIN_VALUE = 0.4
MIN_SCORE = 0.6
MIN_COVERAGE = 0.5
MIN_FOCUS = 0.4
MIN_CREDIT = 0.4
MAX_LACKING = 0.6
"""Greatest share of the topical terms, which are not names, that may be absent."""
MIN_TOPICAL = 0.3
"""Below this share of the question's weight the topical terms are not judged: a name with one helping word."""
COVERED_NAME = 0.54
WEAK = 0.5
MAX_UNKNOWN_NAMES = 0.25
"""Greatest share of the question's weight in names that are nowhere in the document."""

_SHORT = 18
_EXTRA = re.compile(r"\b(?:adicional(?:es)?|extra|suplementari[oa]s?|additional|provisional|excepcional(?:es)?)\b")
_HEAD_LINE = re.compile(r"(?:de|para|cc|fecha|asunto|from|to|date|subject|titulo|cliente|saludos|gracias)\b\s*[:,]")
_YES = re.compile(r"^\W*(?:si|yes|sim)\b(?!\s+(?:el|la|los|las|no|se|un|una|es|su|hay|bien|the)\b)")
_NO = re.compile(r"^\W*(?:no|nao)\b[,.;:]")
_CANNOT = (
    "puede puedes pueden podra podran esta estan es son sera seran hay habra existe existen cabe incluye incluyen "
    "admite admiten aceptamos acepta permite tiene tendra procede lo la los las requiere precisa aplica cubre dispone"
)
_NEGATED = re.compile(
    rf"\bno (?:se )?(?:{'|'.join(listed(_CANNOT))})\b|\bno se \w+(?:ra|ran|an|a|e|en)\b|"
    r"\bquedan? (?:excluid|prohibid|vedad)|\bestan? (?:prohibid|excluid)|\bprohibid[oa]|\bvedad[oa]\b|"
    r"\b(?:se )?excluyen?\b|"
    r"\bningun[oa]?\b|\bnunca\b|\bnadie\b|\ben ningun caso\b|\bsin prorroga\b|"
    r"\b(?:cannot|must not|may not|is not|are not|not allowed|not included|not permitted)\b|\bnao (?:pode|e|ha|se)\b"
)
_COUNTED = re.compile(r"\b(?:cuant[oa]s?|how many|quant[oa]s?)\s+(\w+)")
SUBJECT = 80
_COPULA = re.compile(r"([^.;:]*)\b(?:son|es|fueron|fue|seran|sera|eran|era|are|were|is|was)\s+(?:de\s+)?$")
"""The counted noun may come before the number: "the operations affected are 38"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a question. ``weights`` are by the index of the term; ``focus`` is the index of its focus.

    ``topical`` are the indexes of the terms that are not names, ``own_topical`` those of them in this part, and
    ``own_codes`` the identifiers in this part.
    """

    question: Question
    terms: Sequence[Term]
    weights: Sequence[float]
    topical: Sequence[int]
    own_topical: Sequence[int]
    own_codes: frozenset[int]
    focus: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    candidate: Candidate
    coverage: float
    topic: float
    value: float
    score: float


def part_of(question: Question, terms: Sequence[Term], own_terms: frozenset[int]) -> Part:
    topical = [index for index, term in enumerate(terms) if not term.is_name]
    return Part(
        question=question,
        terms=terms,
        weights=[
            term.weight * (1.0 if index in own_terms else OTHER_PART_NAME if term.is_name else OTHER_PART)
            for index, term in enumerate(terms)
        ],
        topical=topical,
        own_topical=[index for index in topical if index in own_terms],
        own_codes=frozenset(index for index in own_terms if terms[index].is_code),
        focus=_term_of(question.focus, terms) if question.focus else None,
    )


def _term_of(noun: str, terms: Sequence[Term]) -> int | None:
    for index, term in enumerate(terms):
        stem = folded_in_place(term.lexeme)
        if len(stem) >= 3 and noun.startswith(stem[: max(3, len(stem) - 1)]) and len(noun) - len(stem) <= 5:
            return index
    return None


def score(candidate: Candidate, part: Part) -> Scored:
    kinds = part.question.kinds
    coverage = share(candidate.credits, part.weights)
    topic = _share_of(part.topical, candidate.close, part) if part.topical else coverage
    value = value_strength(part.question.plain, kinds, candidate.statement, candidate.following) if kinds else 1.0
    evidence = (1 - TOPIC) * coverage + TOPIC * topic
    total = (1 - VALUE) * evidence + VALUE * value if kinds else evidence
    return Scored(
        candidate=candidate,
        coverage=coverage,
        topic=topic,
        value=value,
        score=total
        + PRIOR / (1 + (candidate.passage.n - 1) / 4)
        + _bonus(candidate, part)
        - _penalty(candidate, part.question),
    )


def _share_of(indexes: Sequence[int], credits_of_terms: Sequence[float], part: Part) -> float:
    return share([credits_of_terms[i] for i in indexes], [part.weights[i] for i in indexes])


def _bonus(candidate: Candidate, part: Part) -> float:
    coded = any(term.is_code and own for term, own in zip(part.terms, candidate.own, strict=True))
    focused = candidate.own[part.focus] if part.focus is not None else 0.0
    decides = part.question.asks_yes_or_no and says_yes_or_no(candidate.statement) is not None
    return CODE * coded + FOCUS * focused + DECIDES * decides


def _penalty(candidate: Candidate, question: Question) -> float:
    text = candidate.statement.text
    plain = folded_in_place(text)
    penalty = LENGTH * min(1.0, len(text) / 400)
    if candidate.statement.introduces:
        penalty += 0.2
    elif _HEAD_LINE.match(plain):
        penalty += 0.15
    elif len(text) < _SHORT and not any(map(str.isdigit, text)):
        penalty += 0.1
    if question.kinds and ValueKind.AMOUNT not in question.kinds and found_values(text, ValueKind.AMOUNT):
        penalty += 0.06
    if _EXTRA.search(plain) and not _EXTRA.search(question.plain):
        penalty += 0.06
    return penalty


def answers(scored: Scored, part: Part) -> bool:
    """Return whether a statement is evidence enough: its score, the names and codes, the value and the focus."""
    candidate, kinds = scored.candidate, part.question.kinds
    if (
        scored.score < MIN_SCORE
        or scored.coverage < MIN_COVERAGE
        or _unknown_names(candidate, part) > MAX_UNKNOWN_NAMES
    ):
        return False
    if scored.value < MIN_VALUE and kinds and (kinds <= STRICT or ValueKind.PERSON in kinds):
        return False
    if _lacking(candidate, part) > MAX_LACKING or _is_another_fact(candidate, part):
        return False
    if part.focus is not None and not part.question.asks_clause:
        return candidate.credits[part.focus] >= MIN_FOCUS
    return True


def pair_answers(answer: Scored, link: Scored, part: Part) -> bool:
    """Return whether two statements together are evidence enough."""
    if part.focus is not None and answer.candidate.credits[part.focus] < MIN_FOCUS:
        return False
    both = tuple(map(max, answer.candidate.credits, link.candidate.credits))
    joined = replace(answer, candidate=replace(answer.candidate, credits=both), coverage=share(both, part.weights))
    return answers(joined, part)


def _lacking(candidate: Candidate, part: Part) -> float:
    """Return the share of the weight of the topical terms of this part that are nowhere near."""
    weight = math.fsum(part.weights[index] for index in part.own_topical)
    if not part.own_topical or weight < MIN_TOPICAL * math.fsum(part.weights):
        return 0.0
    return 1 - _share_of(part.own_topical, [float(credit >= MIN_CREDIT) for credit in candidate.credits], part)


def _is_another_fact(candidate: Candidate, part: Part) -> bool:
    """Return whether a fact contains only names of the question: other facts contain them too."""
    is_fact = candidate.statement.fact is not None and bool(part.own_topical)
    return is_fact and not any(candidate.own[index] for index in part.own_topical)


def _unknown_names(candidate: Candidate, part: Part) -> float:
    """Return the share of the question's weight in names that the document lacks; 1 if it lacks a code.

    A name elsewhere in the document, not near the statement nor in the document's subject, counts WEAK of its weight.
    """
    unknown = 0.0
    for index, term in enumerate(part.terms):
        credit = candidate.credits[index]
        if not term.is_name or not part.weights[index] or credit >= COVERED_NAME:
            continue
        if not credit and index in part.own_codes:
            return 1.0
        unknown += part.weights[index] * (WEAK if credit else 1.0)
    return unknown / (math.fsum(part.weights) or 1.0)


def says_yes_or_no(statement: Statement) -> bool | None:
    """Return whether the statement begins with yes (True) or no (False); None for others and for rows of tables."""
    if statement.cells:
        return None
    plain = folded_in_place(statement.text)
    return True if _YES.match(plain) else False if _NO.match(plain) else None


def decided(statement: Statement, cell: Cell | None = None) -> bool | None:
    """Return whether the statement, or the cell of its row, means yes (True) or no (False); None if it is unclear."""
    plain = folded_in_place(cell.text if cell else statement.text)
    if _YES.match(plain) or (cell and plain in ("si", "yes", "x", "✓", "incluido", "incluida")):
        return True
    if _NO.match(plain) or (cell and plain in ("no", "-", "—")):
        return False
    if cell or statement.cells:
        return None
    return _NEGATED.search(plain) is None


def value_strength(
    question: str, kinds: Iterable[ValueKind], statement: Statement, following: Statement | None
) -> float:
    """Return the strength, in [0, 1], of the statement's best value of the kinds that is not in the folded question."""
    if statement.implied == SIGNING:
        # a place and a date name no person
        kinds = [kind for kind in kinds if kind is not ValueKind.PERSON]
    own = max((_strength(question, statement, kind) for kind in kinds), default=0.0)
    if own >= 1 or following is None or following.is_heading or following.line != statement.line or statement.cells:
        return own
    return max(own, FOLLOWING * max((_strength(question, following, kind) for kind in kinds), default=0.0))


def has_value(question: str, kinds: Iterable[ValueKind], cell: Cell) -> bool:
    """Return whether a cell has a value of one of the kinds, or the unit of the noun that the question counts."""
    counted = _COUNTED.search(question)
    unit = UNITS.get(counted.group(1)) if counted else None
    if unit and f"{unit} " in f"{folded_in_place(cell.text)} ":
        return True
    return any(
        (kind is ValueKind.AMOUNT and is_cell_amount(cell.text))
        or any(folded_in_place(value) not in question for value in found_values(cell.text, kind))
        for kind in kinds
    )


def _strength(question: str, statement: Statement, kind: ValueKind) -> float:
    if kind is ValueKind.AMOUNT and any(is_cell_amount(cell.text) for cell in statement.cells):
        return 1.0
    if statement.fact is not None and kind in (ValueKind.PERSON, ValueKind.NAME):
        return 1.0 if statement.fact.new_names(question) else 0.0
    values = [value for value in found_values(statement.text, kind) if folded_in_place(value).strip() not in question]
    if not values:
        # "how much" may ask for a percentage
        return LOOSE if kind is ValueKind.AMOUNT and found_values(statement.text, ValueKind.PERCENT) else 0.0
    if kind is ValueKind.QUANTITY:
        noun = _COUNTED.search(question)
        return 1.0 if noun is None or _counts(noun.group(1), values, statement) else LOOSE
    return 1.0


def _counts(noun: str, values: Iterable[str], statement: Statement) -> bool:
    """Return whether a number is next to the noun, or the noun is in a column's head, a label or the row."""
    plain = folded_in_place(statement.text)
    unit = UNITS.get(noun)
    labels = " ".join(f"{cell.header} {cell.text}" for cell in statement.cells) or plain.partition(":")[0] * (
        ":" in plain
    )
    if _has_root(noun, folded_in_place(labels)):
        return True
    for value in values:
        for match in re.finditer(rf"(?<!\w){re.escape(value.strip())}(?!\w)", plain):
            words = re.findall(r"[^\W\d_]+|€|°", plain[match.end() : match.end() + 45])[:3]
            if any(same_root(noun, word) for word in words) or (unit is not None and words[:1] == [unit]):
                return True
            before = _COPULA.search(plain, max(0, match.start() - SUBJECT), match.start())
            if before and _has_root(noun, before.group(1)):
                return True
    return False


def _has_root(noun: str, plain: str) -> bool:
    return any(same_root(noun, word) for word in re.findall(r"[^\W\d_]+", plain))
