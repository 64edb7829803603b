"""Scores answers against questions with accepted and forbidden substrings.

Answer, gold, forbidden values and evidence are folded alike: by the text analysis, then ``|`` and every run of white
space to one space. Of the answerable questions:

    right        the answer contains any gold; for a yes/no question also if its first word is the expected one
    hedged       right, and it contains a forbidden value too
    wrong value  it contains a forbidden value and is not right
    abstained    wrongly: neither right nor wrong, but a miss

and of those that were answered:

    cited        a cited document is one that is needed; for kind ``multi``, every document that is needed is cited
    evidence     the text of a cited span contains the evidence

An unanswerable question is right only if it was abstained from.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragcorp.domain.text.folding import folded

MULTI = "multi"
YESNO = "yesno"
MAX_SPAN_LINES = 12
"""Lines of a cited span that count as its evidence; a longer span shows no evidence."""

_YES_NO = {"yes": "si", "oui": "si", "sim": "si", "nao": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskQuestion:
    """A question with what a right answer contains. Documents by ``external_id``; all empty where unanswerable.

    >>> AskQuestion(id='q1', text='¿Plazo?', kind='value', answerable=True, gold=('30 días',)).gold
    ('30 días',)
    """

    id: str
    text: str
    kind: str
    answerable: bool
    documents: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    evidence: str = ""
    forbidden: tuple[str, ...] = ()
    yesno: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSpan:
    """A citation: its document, how many lines it spans, and the document's text between them.

    >>> CitedSpan(document='contrato.md', lines=1, text='El plazo es de 30 días.').document
    'contrato.md'
    """

    document: str
    lines: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer to score: text, abstention and citations.

    >>> GivenAnswer(text='30 días [1].', abstained=False).citations
    ()
    """

    text: str
    abstained: bool
    citations: tuple[CitedSpan, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerVerdict:
    """What became of one question. ``cited_any`` asks for one of the needed documents, whatever the kind.

    >>> question = AskQuestion(id='q1', text='¿Plazo?', kind='value', answerable=False)
    >>> AnswerVerdict(question=question, abstained=True, right=True).right
    True
    """

    question: AskQuestion
    abstained: bool
    right: bool = False
    hedged: bool = False
    wrong_value: bool = False
    cited: bool = False
    cited_any: bool = False
    evidence: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShares:
    """Shares in [0, 1]; None where there was no such question. ``asked`` counts questions.

    >>> shares([]).asked
    0
    """

    asked: int
    right: float | None
    hedged: float | None
    wrong_value: float | None
    cited: float | None
    cited_any: float | None
    evidence: float | None
    abstained_rightly: float | None
    abstained_wrongly: float | None


def _folded(text: str) -> str:
    return " ".join(folded(text).replace("|", " ").split())


def judged(question: AskQuestion, answer: GivenAnswer) -> AnswerVerdict:
    """Score one answer against its question.

    >>> question = AskQuestion(id='q1', text='¿Plazo?', kind='value', answerable=True, gold=('30 días',))
    >>> judged(question, GivenAnswer(text='Son 30 DIAS [1].', abstained=False)).right
    True
    """
    if answer.abstained:
        return AnswerVerdict(question=question, abstained=True, right=not question.answerable)
    text = _folded(answer.text)
    forbidden = _contains_any(text, question.forbidden)
    if not question.answerable:
        return AnswerVerdict(question=question, abstained=False, wrong_value=forbidden)
    right = _contains_any(text, question.gold) or (question.kind == YESNO and _begins_with(text, question.yesno))
    cited = {span.document for span in answer.citations}
    needed = set(question.documents)
    return AnswerVerdict(
        question=question,
        abstained=False,
        right=right,
        hedged=right and forbidden,
        wrong_value=forbidden and not right,
        cited=needed <= cited if question.kind == MULTI else bool(needed & cited),
        cited_any=bool(needed & cited),
        evidence=any(
            span.lines <= MAX_SPAN_LINES and _folded(question.evidence) in _folded(span.text)
            for span in answer.citations
        ),
    )


def shares(verdicts: Iterable[AnswerVerdict]) -> AnswerShares:
    """Sum verdicts up as shares.

    >>> question = AskQuestion(id='q1', text='¿Plazo?', kind='value', answerable=False)
    >>> shares([judged(question, GivenAnswer(text='', abstained=True))]).abstained_rightly
    1.0
    """
    of = list(verdicts)
    answerable = [verdict for verdict in of if verdict.question.answerable]
    answered = [verdict for verdict in answerable if not verdict.abstained]
    unanswerable = [verdict for verdict in of if not verdict.question.answerable]
    return AnswerShares(
        asked=len(of),
        right=_share(answerable, lambda verdict: verdict.right),
        hedged=_share(answerable, lambda verdict: verdict.hedged),
        wrong_value=_share(answerable, lambda verdict: verdict.wrong_value),
        cited=_share(answered, lambda verdict: verdict.cited),
        cited_any=_share(answered, lambda verdict: verdict.cited_any),
        evidence=_share(answered, lambda verdict: verdict.evidence),
        abstained_rightly=_share(unanswerable, lambda verdict: verdict.abstained),
        abstained_wrongly=_share(answerable, lambda verdict: verdict.abstained),
    )


def shares_by_kind(verdicts: Iterable[AnswerVerdict]) -> Mapping[str, AnswerShares]:
    """Return the shares of each kind, kinds in alphabetical order.

    >>> question = AskQuestion(id='q1', text='¿Plazo?', kind='value', answerable=False)
    >>> list(shares_by_kind([judged(question, GivenAnswer(text='', abstained=True))]))
    ['value']
    """
    kinds: dict[str, list[AnswerVerdict]] = {}
    for verdict in verdicts:
        kinds.setdefault(verdict.question.kind, []).append(verdict)
    return {kind: shares(kinds[kind]) for kind in sorted(kinds)}


def _contains_any(text: str, values: Iterable[str]) -> bool:
    return any(_folded(value) in text for value in values)


def _begins_with(text: str, expected: str) -> bool:
    first = re.sub(r"\W", "", text.split(" ", 1)[0])
    return bool(first) and _YES_NO.get(first, first) == _folded(expected)


def _share(verdicts: Sequence[AnswerVerdict], condition: Callable[[AnswerVerdict], bool]) -> float | None:
    return sum(map(condition, verdicts)) / len(verdicts) if verdicts else None
