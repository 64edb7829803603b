"""Names that entities of code have beside their own: members, constants, what an export is called."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import ParsedText
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer

EXTRACTOR = TreeSitterExtractor(tokenizer=SplintrTokenizer())


def names(path: str, text: str) -> dict[str, tuple[str, ...]]:
    results = EXTRACTOR.extract(ParsedText(text=text, plain=True), path=path).entities
    return {
        entity.key.removeprefix(path).removeprefix("::"): tuple(name.removeprefix("symbol:") for name in entity.names)
        for entity in results
    }


PYTHON = """class Registro:
    identificador: str
    ROJO = 1
    alto, ancho = 1, 2
    class Meta:
        orden = 1
    def __init__(self, x):
        self.total = x
        local = 2
        class Local:
            z = 1

def f():
    class Suelta:
        w = 1
"""
TYPESCRIPT = """export enum Role { Admin = "admin", Reader }
export interface Claims { subject: string }
type Options = {
  deep: string;
};
class Store {
  private items = {a: 1};
  constructor(private db: string, other: number) { this.open = 1 }
}
export const Colour = { Red: 1, Dark: { Blue: 2 } } as const;
const Frozen = Object.freeze({ Yes: 1 });
function free(o: { inner: string }) { call({ y: 1 }) }
"""
GO = """package auth

type TokenClaims struct {
	Subject, Issuer string
}

func free() { type T struct { q int } }
"""


def test_members_are_qualified_names_of_their_class() -> None:
    assert names("a.py", PYTHON) == {
        "Registro": (
            "registro", "registro.identificador", "registro.rojo", "registro.alto", "registro.ancho", "registro.total",
        ),
        "Registro.Meta": ("meta", "registro.meta", "meta.orden", "registro.meta.orden"),
        "Registro.__init__": ("init", "registro.init", "local", "init.local", "registro.init.local"),
        "f": ("f", "suelta", "f.suelta"),
    }  # fmt: skip
    assert names("a.ts", TYPESCRIPT) == {
        "": ("colour", "colour.red", "dark.blue", "colour.dark.blue", "frozen", "frozen.yes"),
        "Role": ("role", "role.admin", "role.reader"),
        "Claims": ("claims", "claims.subject"),
        "Options": ("options", "options.deep"),
        "Store": ("store", "store.items", "store.db", "store.open"),
        "Store.constructor": ("constructor", "store.constructor"),
        "free": ("free",),
    }
    assert names("a.go", GO)["TokenClaims"] == ("tokenclaims", "tokenclaims.subject", "tokenclaims.issuer")
    assert names("a.go", GO)["free"] == ("free", "t", "free.t")
    assert names("a.js", "class Cart {\n  #total = 0;\n  static max = 1;\n  add() { this.sum = 1 }\n}\n")["Cart"] == (
        "cart", "cart.total", "cart.max", "cart.sum",
    )  # fmt: skip


def test_an_export_is_called_what_its_class_is() -> None:
    assert names("lib/a.js", "module.exports = class Foo {\n  m() {}\n  #n = 1;\n};\n") == {
        "Foo": ("foo", "default", "foo.default", "a", "foo.n"),
        "Foo.m": ("m", "foo.m"),
    }
    assert names("lib/a.js", "module.exports = function run() {};\n")["run"][0] == "run"
    assert names("lib/a.js", "exports.read = function leer() {};\n") == {"read": ("read", "leer", "read.leer")}
    assert names("lib/a.js", "module.exports = class {};\n") == {"default": ("default", "a")}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("const api = { nested: { deep() {} } };\n", "api.nested.deep"),
        ("exports.api = { 'nested': { deep: { run() {} } } };\n", "api.nested.deep.run"),
        ("export default { methods: { save() {} } };\n", "methods.save"),
        ("module.exports = { save() {} };\n", "save"),
    ],
)
def test_a_method_of_a_nested_object_is_qualified_by_all_of_it(text: str, key: str) -> None:
    assert key in names("a.js", text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "ONE, TWO = 1, 2\n"),
        ("a.py", "(ONE, TWO) = 1, 2\n"),
        ("a.py", "ONE = TWO = 1\n"),
        ("a.go", "package a\n\nvar ONE, TWO = 1, 2\n"),
        ("a.go", "package a\n\nconst (\n\tONE, TWO = 1, 2\n)\n"),
        ("a.js", "const [ONE, TWO] = [1, 2];\n"),
        ("a.ts", "export const { ONE, TWO } = slice;\n"),
    ],
)
def test_constants_of_one_assignment_are_names_of_the_file(path: str, text: str) -> None:
    assert names(path, text) == {"": ("one", "two")}
