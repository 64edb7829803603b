"""Extractive answers over ask-es, text only: how often right, and how often rightly silent."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragcorp.application.answer_query import Answer
from ragcorp.main.container import Parts
from ragcorp.main.library import make_rag

pytestmark = pytest.mark.anyio

# measured on 2026-11-28 with PostgreSQL 18, EMBEDDING_PROVIDER=none: see the printed line
RIGHT = 0.368
ABSTAINED = 0.750
CITED = 0.965
SLACK = 0.05


def folded(text: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(c))
    return " ".join(plain.split())


def is_right(question: dict[str, Any], answer: Answer) -> bool:
    if not question["answerable"]:
        return answer.abstained
    if answer.abstained:
        return False
    text = folded(answer.text)
    first = re.sub(r"\W", "", text.split(" ")[0]) if text else ""
    if question["kind"] == "yesno" and {"yes": "si"}.get(first, first) == folded(question["yesno"]):
        return True
    return any(folded(gold) in text for gold in question["gold"])


async def test_extractive_answers_over_ask_es(
    make_container: Callable[..., Any], eval_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rag = make_rag(await make_container(enable_hybrid_search=True, parts=Parts()))
    report = await rag.ingest_folder(eval_dir / "ask-es" / "documents")
    assert not report.failures
    assert report.created == 24
    lines = (eval_dir / "ask-es" / "questions.jsonl").read_text().splitlines()
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    answered = cited = abstained_wrongly = wrong_value = 0
    for line in lines:
        question = json.loads(line)
        answer = await rag.ask(question["text"])
        assert {report.source: report.reason for report in answer.degraded} == {"dense": "no_embedder"}
        assert answer.abstained == (not answer.citations)
        group = question["kind"] if question["answerable"] else "unanswerable"
        asked[group] += 1
        right[group] += is_right(question, answer)
        if question["answerable"]:
            abstained_wrongly += answer.abstained
            if not answer.abstained:
                answered += 1
                cited += bool({citation.external_id for citation in answer.citations} & set(question["documents"]))
                forbidden = any(folded(value) in folded(answer.text) for value in question["forbidden"])
                wrong_value += forbidden and not is_right(question, answer)
    answerable = sum(asked.values()) - asked["unanswerable"]
    accuracy = (sum(right.values()) - right["unanswerable"]) / answerable
    abstention = right["unanswerable"] / asked["unanswerable"]
    by_kind = {kind: f"{right[kind]}/{number}" for kind, number in sorted(asked.items())}
    with capsys.disabled():
        print(
            f"\nask-es, extractive, text only: right {accuracy:.3f} of {answerable}, rightly silent {abstention:.3f} of"
            f" {asked['unanswerable']}, wrongly silent {abstained_wrongly}, wrong value {wrong_value}, cited document"
            f" right {cited}/{answered}; by kind {by_kind}"
        )
    assert accuracy >= RIGHT - SLACK
    assert abstention >= ABSTAINED - SLACK
    assert cited / answered >= CITED - SLACK
