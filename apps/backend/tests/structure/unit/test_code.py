"""Entities of source code: keys, kinds, lines, names, calls and whose own text a line is."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.structure.entities import EntityDraft, EntityKind
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer

EXTRACTOR = TreeSitterExtractor(tokenizer=SplintrTokenizer())

PYTHON = '''"""Módulo de áreas 😀."""
import os
LIMIT = 3

# Checks a token.
@cache
@app.get("/x")
async def validate_token(token: str) -> bool:
    """Say whether it is valid."""
    def inner(x):
        return helper(x)
    return inner(token).strip()  # end

class Session(Base):
    """Sesión."""
    ttl = compute()

    # Who.
    @property
    def user(self):
        return self.load(1)
    @user.setter
    def user(self, v): pass
    class Meta:
        x = 1
        def m(self): pass
    y = 2
    def load(self): return db.query.run()

if __name__ == "__main__":
    main()
'''
TYPESCRIPT = """import React from "react";
/** A button. */
export const Button = memo(({x}: P) => {
  return <Icon onClick={go}/>;
});
export default function App() { return <Button/> }
@Component({a: f()})
export abstract class Store<T> extends Base {
  /** Makes one. */
  constructor(private x: string) { super(); this.load(); }
  abstract save(): void;
  @Input() set z(v) { new Foo.Bar() }
  get = () => { fetch() };
}
export interface Reader {
  read(): void;
}
type Id = string;
type Options = {
  a: string;
};
namespace Shop.Cart { export function add() {} }
enum Colour { Red, Blue }
const api = { list() { return 1 }, short: async () => 2,
  post: async () => {
    await fetch("x");
  },
};
declare function legacy(a: string): void;
"""
GO = """package auth

import "fmt"

const Max = 3

// Server serves.
// On a port.
type Server struct {
	port int
}

type (
	Id     int
	Reader interface {
		Read() error
	}
)

// Start starts.
func (s *Server) Start(x int) error { return s.listen(fmt.Sprint(x)) }

func (l List[T]) Len() int { return 0 }

func New() *Server { return &Server{port: 1} }

var Hook = func() {
}

func init() {}
func init() {}
"""
JAVASCRIPT = """const LIMIT = 5;
exports.read = function (x) {};
Session.prototype.start = () => {};
const twice = x => 2 * x, thrice = x => 3 * x;
function *walk() {}
class Cart {
  #total = 0;
  add = (item) => { this.sum(item) }
  static async of() { return new Cart() }
  ['odd name']() {}
}
export default () => 1;
"""


def entities(path: str, text: str) -> dict[str, EntityDraft]:
    results = EXTRACTOR.extract(ParsedText(text=text, plain=True), path=path).entities
    return {entity.key.removeprefix(path).removeprefix("::"): entity for entity in results}


def outline(path: str, text: str) -> list[tuple[str, str, int, int]]:
    return [(key, e.kind.value, e.line_start, e.line_end) for key, e in entities(path, text).items()]


def test_python_in_the_order_of_its_text() -> None:
    assert outline("src/auth.py", PYTHON) == [
        ("", "file", 1, 31),
        ("validate_token", "function", 5, 12),
        ("Session", "class", 14, 28),
        ("Session.user", "method", 18, 21),
        ("Session.user (2)", "method", 22, 23),
        ("Session.Meta", "class", 24, 26),
        ("Session.Meta.m", "method", 26, 26),
        ("Session.load", "method", 28, 28),
    ]


def test_typescript_in_the_order_of_its_text() -> None:
    assert outline("a.tsx", TYPESCRIPT) == [
        ("", "file", 1, 29),
        ("Button", "function", 2, 5),
        ("App", "function", 6, 6),
        ("Store", "class", 7, 14),
        ("Store.constructor", "method", 9, 10),
        ("Store.save", "method", 11, 11),
        ("Store.z", "method", 12, 12),
        ("Store.get", "method", 13, 13),
        ("Reader", "class", 15, 17),
        ("Options", "class", 19, 21),
        ("Shop.Cart", "class", 22, 22),
        ("Shop.Cart.add", "method", 22, 22),
        ("Colour", "class", 23, 23),
        ("api.list", "method", 24, 24),
        ("api.post", "method", 25, 27),
        ("legacy", "function", 29, 29),
    ]


def test_go_in_the_order_of_its_text() -> None:
    assert outline("auth/auth.go", GO) == [
        ("", "file", 1, 31),
        ("Server", "class", 7, 11),
        ("Reader", "class", 15, 17),
        ("Server.Start", "method", 20, 21),
        ("List.Len", "method", 23, 23),
        ("New", "function", 25, 25),
        ("Hook", "function", 27, 28),
        ("init", "function", 30, 30),
        ("init (2)", "function", 31, 31),
    ]


def test_javascript_in_the_order_of_its_text() -> None:
    assert outline("lib/cart.js", JAVASCRIPT) == [
        ("", "file", 1, 12),
        ("read", "function", 2, 2),
        ("Session.start", "method", 3, 3),
        ("twice", "function", 4, 4),
        ("walk", "function", 5, 5),
        ("Cart", "class", 6, 11),
        ("Cart.add", "method", 8, 8),
        ("Cart.of", "method", 9, 9),
        ("Cart.odd name", "method", 10, 10),
        ("default", "function", 12, 12),
    ]


def test_a_symbol_holds_its_comment_and_its_decorators_and_the_rest_of_its_last_line() -> None:
    result = entities("src/auth.py", PYTHON)["validate_token"]
    assert result.content == "\n".join(PYTHON.splitlines()[4:12])
    assert (result.language, result.container, result.name) == ("python", None, "validate_token")
    assert entities("a.tsx", TYPESCRIPT)["Store.z"].content == "  @Input() set z(v) { new Foo.Bar() }"
    assert entities("auth.go", GO)["Server"].content.startswith("// Server serves.\n// On a port.\ntype Server")


def test_a_class_is_shown_without_what_lies_in_it() -> None:
    results = entities("src/auth.py", PYTHON)
    assert results["Session"].content == (
        'class Session(Base):\n    """Sesión."""\n    ttl = compute()\n\n    ...\n    y = 2\n    ...'
    )
    assert results["Session.Meta"].content == "    class Meta:\n        x = 1\n        ..."
    assert results["Session.Meta.m"].container == "src/auth.py::Session.Meta"
    assert results["Session.Meta"].container == "src/auth.py::Session"


def test_a_file_is_shown_without_its_symbols_and_named_by_its_constants() -> None:
    file = entities("src/auth.py", PYTHON)[""]
    assert file.key == "src/auth.py"
    assert file.content == ('"""Módulo de áreas 😀."""\nimport os\nLIMIT = 3\n\nif __name__ == "__main__":\n    main()')
    assert (file.kind, file.name, file.names, file.calls) == (
        EntityKind.FILE, "auth.py", ("symbol:limit",), ("symbol:main",),
    )  # fmt: skip
    assert entities("a.go", GO)[""].names == ("symbol:max", "symbol:id")
    assert entities("a.tsx", TYPESCRIPT)[""].names == ("symbol:id", "symbol:api", "symbol:api.short")
    assert entities("a.js", JAVASCRIPT)[""].names == ("symbol:limit",)


def test_names_are_the_simple_one_and_each_qualified_tail() -> None:
    results = entities("src/auth.py", PYTHON)
    assert results["Session.Meta.m"].names == ("symbol:m", "symbol:meta.m", "symbol:session.meta.m")
    assert entities("web/menu.js", "export default function () {}")["default"].names == (
        "symbol:default", "symbol:menu",
    )  # fmt: skip
    assert "symbol:thrice" in entities("a.js", JAVASCRIPT)["twice"].names


def test_what_is_defined_in_a_function_is_a_name_of_it() -> None:
    assert entities("a.py", PYTHON)["validate_token"].names == (
        "symbol:validatetoken", "symbol:inner", "symbol:validatetoken.inner",
    )  # fmt: skip


def test_calls_are_kept_where_they_stand() -> None:
    results = entities("src/auth.py", PYTHON)
    assert results["validate_token"].calls == (
        "symbol:get", "symbol:app.get", "symbol:helper", "symbol:inner", "symbol:strip",
    )  # fmt: skip
    assert results["Session.user"].calls == ("symbol:load", "symbol:session.load")
    assert results["Session"].calls == ("symbol:compute",)
    assert results["Session.load"].calls == ("symbol:run", "symbol:query.run")
    scripted = entities("a.tsx", TYPESCRIPT)
    assert scripted["Button"].calls == ("symbol:memo", "symbol:icon")
    assert scripted["Store.z"].calls == ("symbol:input", "symbol:bar")
    assert scripted["Store"].calls == ("symbol:component", "symbol:f")
    assert entities("a.js", JAVASCRIPT)["Cart.of"].calls == ("symbol:cart",)
    assert entities("a.go", GO)["New"].calls == ("symbol:server",)


def test_at_most_200_calls_are_kept() -> None:
    text = "def f():\n" + "".join(f"    g{number}()\n" for number in range(300))
    assert entities("a.py", text)["f"].calls == tuple(f"symbol:g{number}" for number in range(200))


def test_a_method_of_go_is_in_its_struct() -> None:
    results = entities("a.go", GO)
    assert results["Server.Start"].container == "a.go::Server"
    assert results["List.Len"].container is None


def test_a_head_is_the_signature_with_the_first_lines_at_most_128_tokens() -> None:
    comment = "".join(f"# remark number {number} of many\n" for number in range(60))
    body = "".join(f"    total = total + step({number})\n" for number in range(60))
    result = entities("a.py", f"{comment}def long_one(total: int) -> int:\n{body}    return total\n")["long_one"]
    assert result.head_tokens <= 128 < result.token_count
    lines = result.head.splitlines()
    assert lines[0] == "# remark number 0 of many"
    assert "def long_one(total: int) -> int:" in lines
    assert lines[-1].startswith("    total = total + step(")
    whole = set(result.content.splitlines())
    assert all(line in whole for line in lines)


def test_of_a_line_that_is_longer_than_a_head_its_beginning_is_shown() -> None:
    result = entities("a.js", f"const data = () => [{'1, ' * 50_000}];\n")["data"]
    assert result.head_tokens == 128
    assert result.content.startswith(result.head)


def test_what_is_embedded_begins_with_the_path_and_the_words_of_the_name() -> None:
    results = entities("src/HttpServer.py", "class HTTPServer:\n    def start_all2(self):\n        pass\n")
    assert results["HTTPServer.start_all2"].index_text == (
        "src/HttpServer.py http server start all 2\n    def start_all2(self):\n        pass"
    )


@pytest.mark.parametrize("path", ["src\\win\\AUTH.PY", "./auth.py", "auth.pyi", "/a b/auth.py"])
def test_the_language_is_told_by_the_suffix(path: str) -> None:
    results = EXTRACTOR.extract(ParsedText(text="def login(): pass\n"), path=path).entities
    assert [(entity.key, entity.language) for entity in results] == [(f"{path}::login", "python")]


def test_symbols_on_one_line_share_it_out() -> None:
    result = entities("a.min.js", "function a(){}function b(){};class C{m(){}n(){}}var x=1;\n")
    assert {key: entity.content for key, entity in result.items()} == {
        "": "var x=1;", "a": "function a(){}", "b": "function b(){};", "C": "class C{...}", "C.m": "m(){}",
        "C.n": "n(){}",
    }  # fmt: skip
