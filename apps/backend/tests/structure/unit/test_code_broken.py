"""Broken and hostile code: what parses is found, and the work is bounded."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.structure.entities import MAX_ENTITY_CHARACTERS, EntityDraft, EntityKind
from ragcorp.infrastructure.structure import code
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.syntax import MAX_BYTES
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer

TOKENIZER = SplintrTokenizer()
EXTRACTOR = TreeSitterExtractor(tokenizer=TOKENIZER)


def extract(path: str, text: str, extractor: TreeSitterExtractor = EXTRACTOR) -> tuple[EntityDraft, ...]:
    return extractor.extract(ParsedText(text=text, plain=True), path=path).entities


def qualified(path: str, text: str) -> list[str]:
    return [entity.key.partition("::")[2] for entity in extract(path, text)]


def test_an_unclosed_brace_does_not_swallow_what_follows() -> None:
    text = "function a() {\n  if (x) {\n  return 1\n}\n\nfunction b() { return 2 }\n\nclass C { m() { return 1 } }\n"
    assert qualified("a.js", text) == ["a", "b", "C", "C.m"]
    text = "package a\n\nfunc A() {\n\tif x {\n\treturn 1\n}\n\nfunc B() int { return 2 }\n\nfunc (s *S) C() {}\n"
    assert qualified("a.go", text) == ["", "A", "B", "S.C"]


def test_a_merge_conflict_leaves_both_sides() -> None:
    sides = "<<<<<<< HEAD\ndef b():\n    return 2\n=======\ndef b():\n    return 3\n>>>>>>> x\n"
    text = f"def a():\n    return 1\n{sides}def c(): pass\n"
    results = extract("a.py", text)
    assert [entity.key for entity in results] == ["a.py", "a.py::a", "a.py::b", "a.py::b (2)", "a.py::c"]
    assert "<<<<<<< HEAD" in results[0].content
    assert ">>>>>>> x" in results[0].content


def test_half_a_file_yields_its_whole_symbols() -> None:
    text = "class A:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n\n    def thr"
    assert qualified("a.py", text)[:3] == ["A", "A.one", "A.two"]


def test_an_error_in_one_function_leaves_the_others() -> None:
    text = "def a(:\n    return 1\n\ndef b():\n    x = 'open\n    return 2\ndef c():\n  if x\n    y()\ndef d(): pass\n"
    assert qualified("a.py", text) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.ts", "a.tsx", "a.go"])
@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "(" * 10_000 + ")" * 10_000,
        "f(" * 10_000 + ")" * 10_000,
        "{" * 12_000,
        "`${" * 4_000,
        "a" + "()" * 5_000,
        "class A{a(){" * 1_000,
        "x" * 1_000_000,
        "\x00\x01\x7f\ufffd\ud800}{)(" * 400,
        "@a\n" * 2_000,
        " " * 100_000 + "x",
    ],
    ids=["open", "nested", "calls", "braces", "templates", "chain", "classes", "line", "junk", "decorators", "spaces"],
)
def test_nothing_hostile_raises(path: str, text: str) -> None:
    results = extract(path, text)
    assert results
    assert len({entity.key for entity in results}) == len(results)
    assert all(entity.head_tokens <= 128 and "\x00" not in entity.content for entity in results)


def test_a_file_that_is_too_long_is_one_entity() -> None:
    text = "def a(): pass\n" * (MAX_BYTES // 14 + 1)
    (result,) = extract("a.py", text)
    assert (result.key, result.kind, result.language, result.cut) == ("a.py", EntityKind.FILE, "python", True)
    assert result.content == text[: MAX_ENTITY_CHARACTERS // 14 * 14 - 1]


def test_a_file_that_takes_too_long_to_parse_is_one_entity() -> None:
    impatient = TreeSitterExtractor(tokenizer=TOKENIZER, parse_seconds=-1.0)
    (result,) = extract("a.py", "def a(): pass\n" * 1000, impatient)
    assert (result.key, result.kind) == ("a.py", EntityKind.FILE)


def test_what_is_defined_after_the_bound_is_left_to_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "MAX_ENTITIES", 3)
    results = extract("a.js", "".join(f"function f{number}() {{}}\n" for number in range(5)))
    assert [entity.key for entity in results] == ["a.js", "a.js::f0", "a.js::f1", "a.js::f2"]
    assert results[0].content == "function f3() {}\nfunction f4() {}"
    assert results[0].names == ("symbol:f3", "symbol:f4")


def test_many_of_one_name_are_numbered() -> None:
    results = extract("a.py", "def a(): pass\n" * 3000)
    assert results[-1].key == "a.py::a (3000)"


def test_places_are_right_behind_accents_and_emoji() -> None:
    function = "# Áéí 🎉\ndef calcular_año(x): return 'ñ😀'  # fín"
    text = f"# ñandú 😀 漢字\nañadir = 1\n\n{function}\nclass Ñu:\n  def é(self): pass\n"
    results = {entity.key: entity for entity in extract("a.py", text)}
    assert results["a.py::calcular_año"].content == function
    assert results["a.py::Ñu.é"].content == "  def é(self): pass"
    assert (results["a.py::Ñu.é"].line_start, results["a.py::Ñu.é"].names) == (7, ("symbol:e", "symbol:ñu.e"))
    assert results["a.py"].names == ("symbol:añadir",)
