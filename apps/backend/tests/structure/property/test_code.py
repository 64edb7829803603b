"""What holds of the entities of any code, however broken."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.structure.entities import EntityKind
from ragcorp.infrastructure.structure.code import code_entities
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.languages import Grammars
from ragcorp.infrastructure.structure.syntax import read_syntax
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer

TOKENIZER = SplintrTokenizer()
EXTRACTOR = TreeSitterExtractor(tokenizer=TOKENIZER)
GRAMMARS = Grammars()

SAMPLES = {
    "a/b.py": '''"""Doc ñ."""
import os
LIMIT = 1

# Über.
@cache
def first(x):
    def inner(): return x
    return inner()

class Outer(Base):
    """Doc 😀."""
    @property
    def user(self): return self.load(1)
    class Meta:
        def m(self): pass
    y, z = 2, 3
    t: int

async def last(): await first()
''',
    "b.tsx": """/** Doc é. */
export const A = memo(() => { return <B x="1"/> });
export default class C extends D {
  // 漢
  @Input() set z(v) { new E() }
  f = () => { g() };
}
namespace N { export function q() {} }
enum R { A = 1, B }
const api = { list() { return `a${b}` }, n: { deep() {
  this.q = 1 } },
  post: async () => {
    await fetch("x");
  },
};
""",
    "c.go": """package c

// Server ñ.
type Server struct { a int }

type (
	A int
	I interface { Read() error }
)

func (s *Server) Start(x int) error { return s.run(fmt.Sprint(x)) }

func New() *Server { return &Server{a: 1} }
var H = func() {
}
""",
    "d.js": "exports.a = function (x) {}; A.prototype.b = () => {};\n"
    "function c(){}function d(){};class E{m(){}n(){}#f=1}\nmodule.exports = class F { g = 1 };\n",
}

INSERTED = st.sampled_from(
    ["{", "}", "(", ")", "\n", "\n\n", "def ", "class X:", "function f() {", "func f() {", "/*", "*/", "//", "#", '"""',
     "'", "`", "@", ";", " ", "\t", "😀", "é", "\x00", "<<<<<<< HEAD\n", ")" * 30, "{" * 30, "...", "=>"]
)  # fmt: skip


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, str]:
    path = draw(st.sampled_from(sorted(SAMPLES)))
    text = SAMPLES[path]
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.sampled_from([0, 0, 1, 5, 40]))
        text = text[:start] + draw(st.one_of(INSERTED, st.just(""))) + text[end:]
    return path, text


def examine(path: str, text: str) -> None:
    parsed = ParsedText(text=text, plain=True)
    results = EXTRACTOR.extract(parsed, path=path).entities
    assert results == EXTRACTOR.extract(parsed, path=path).entities
    assert bool(results) is bool(text.strip())
    by_key = {entity.key: entity for entity in results}
    assert len(by_key) == len(results)
    lines = (text.count("\n") or text.count("\r")) + 1
    for entity in results:
        assert 1 <= entity.line_start <= entity.line_end <= lines
        assert entity.head_tokens == TOKENIZER.count(entity.head) <= 128
        assert entity.token_count == TOKENIZER.count(entity.content)
        if entity.container is None:
            continue
        container = by_key[entity.container]
        assert container.kind is EntityKind.CLASS
        inside = container.line_start <= entity.line_start and entity.line_end <= container.line_end
        # a method of Go or of a prototype stands beside its type
        assert inside or path.endswith((".go", ".js"))


def examine_shares(path: str, text: str) -> None:
    text = text.replace("\x00", "\ufffd")
    if not text.strip():
        return
    language = GRAMMARS.language_of(path)
    assert language is not None
    grammar = GRAMMARS.grammar(language)
    assert grammar is not None
    results = code_entities(text, read_syntax(text, grammar, seconds=60.0), path=path)
    owned = sorted(span for entity in results for span in entity.own)
    assert all(0 <= start < end <= len(text) for start, end in owned)
    assert all(first[1] <= second[0] for first, second in pairwise(owned))
    covered = "".join(text[start:end] for start, end in owned)
    assert "".join(covered.split()) == "".join(text.split())
    for entity in results:
        own = [line for start, end in entity.own for line in text[start:end].split("\n") if line.strip()]
        shown = Counter("".join(entity.content.split()))
        assert not Counter("".join("".join(own).split())) - shown


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(broken())
@example(("b.tsx", "export default class{ C {\n}\nconst api = { : { deep() {\n  this.q = 1 } },\n  post: asy\n"))
def test_any_broken_code_has_entities_that_share_it_out(code: tuple[str, str]) -> None:
    examine(*code)
    examine_shares(*code)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SAMPLES)), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_code(path: str, text: str) -> None:
    examine(path, text)


@pytest.mark.soak
@settings(deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
@given(broken())
def test_any_broken_code_has_entities_that_share_it_out_many_times(code: tuple[str, str]) -> None:
    examine(*code)
    examine_shares(*code)
