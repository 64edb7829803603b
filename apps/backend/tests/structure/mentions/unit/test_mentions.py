"""What a query mentions: phrases with the names that they look up, and phrases that mention nothing."""

from __future__ import annotations

import pytest

from ragcorp.application.structure.mentions.parsing import MAX_STRONG, MAX_WEAK_WORDS, mentions
from ragcorp.application.structure.mentions.shapes import Mention


def strong(query: str) -> list[Mention]:
    return [mention for mention in mentions(query) if not mention.weak]


def weak_names(query: str) -> list[str]:
    return [name for mention in mentions(query) if mention.weak for name in mention.names]


FILES = [
    ("Fix the authentication bug in auth.go", [("auth.go", "file:auth.go")]),
    ("Arregla el fallo de `auth.go`, por favor", [("auth.go", "file:auth.go")]),
    ("¿qué hace AUTH.GO?", [("AUTH.GO", "file:auth.go")]),
    ("Mira src/auth/session.py.", [("src/auth/session.py", "file:session.py")]),
    ("El fichero «src/auth/session.py» está roto", [("src/auth/session.py", "file:session.py")]),
    (r"revisa C:\proyectos\web\app.ts", [(r"C:\proyectos\web\app.ts", "file:app.ts")]),
    (r"src\auth\auth.go no compila", [(r"src\auth\auth.go", "file:auth.go")]),
    ("falla en ./x.py:42", [("./x.py", "file:x.py")]),
    ("falla en session.py:42:7", [("session.py", "file:session.py")]),
    ("véase session.py#L10-L20", [("session.py", "file:session.py")]),
    ("abre /home/ana/src/auth.go", [("/home/ana/src/auth.go", "file:auth.go")]),
    ("../lib/db.js no carga", [("../lib/db.js", "file:db.js")]),
    ("¿Qué hace .github/workflows/ci.yml?", [(".github/workflows/ci.yml", "file:ci.yml")]),
    ("cambia el Dockerfile y el README.md", [("Dockerfile", "file:dockerfile"), ("README.md", "file:readme.md")]),
    ("archivo auth", [("auth", "stem:auth")]),
    ("en el fichero session falla algo", [("session falla", "stem:sessionfalla")]),
    ("El módulo facturación", [("facturación", "stem:facturacion")]),
    ("el archivo llamado auth", [("auth", "stem:auth")]),
    ("ARCHIVO: auth", [("auth", "stem:auth")]),
    ("los archivos auth.go y session.go", [("auth.go", "file:auth.go"), ("session.go", "file:session.go")]),
    ("los módulos pagos y cobros", [("pagos", "stem:pagos"), ("cobros", "stem:cobros")]),
    ("«Contrato Acme.docx»", [("Contrato Acme.docx", "file:contrato acme.docx")] * 2),
    ("el Contrato Acme 2024.pdf", [("Contrato Acme 2024.pdf", "file:contrato acme 2024.pdf")]),
    ("el documento Contrato Acme", [("Contrato Acme", "stem:contratoacme")]),
    ("o arquivo auth.py", [("auth.py", "file:auth.py")]),
    ("module auth", [("auth", "stem:auth")]),
    ("`src/auth`", [("src/auth", "file:auth")]),
    ("user.service.ts", [("user.service.ts", "file:user.service.ts")]),
]
SYMBOLS = [
    ("¿Qué hace validate_token?", [("validate_token", "symbol:validatetoken")]),
    ("¿Qué hace validateToken?", [("validateToken", "symbol:validatetoken")]),
    ("llama a ValidateToken() dos veces", [("ValidateToken", "symbol:validatetoken")]),
    ("validate(token) devuelve None", [("validate", "symbol:validate")]),
    ("explica `login`", [("login", "symbol:login")]),
    ("explica `login()`", [("login()", "symbol:login")]),
    ("Session.validate no comprueba la firma", [("Session.validate", "symbol:session.validate")]),
    ("auth::login", [("auth::login", "symbol:auth.login")]),
    ("pkg.mod.func", [("pkg.mod.func", "symbol:pkg.mod.func")]),
    ("self.validate_token", [("self.validate_token", "symbol:validatetoken")]),
    ("server->next_item", [("server->next_item", "symbol:server.nextitem")]),
    ("la función login", [("login", "symbol:login")]),
    ("La FUNCIÓN login", [("login", "symbol:login")]),
    ("la funcion llamada login", [("login", "symbol:login")]),
    ("método `x`", [("x", "symbol:x")]),
    ("el método «close»", [("close", "symbol:close")]),
    ("class Foo", [("Foo", "symbol:foo")]),
    ("clase Foo", [("Foo", "symbol:foo")]),
    ("la clase **Foo**", [("Foo", "symbol:foo")]),
    ('la clase "Foo"', [("Foo", "symbol:foo")]),
    ("as funções login e logout", [("login", "symbol:login"), ("logout", "symbol:logout")]),
    ("las funciones login, logout y refresh", [
        ("login", "symbol:login"), ("logout", "symbol:logout"), ("refresh", "symbol:refresh"),
    ]),
    ("la función validate token", [("validate token", "symbol:validatetoken")]),
    ("la función validate-token", [("validate-token", "symbol:validatetoken")]),
    ("la interfaz TokenStore", [("TokenStore", "symbol:tokenstore")]),
    ("el tipo UserId", [("UserId", "symbol:userid")]),
    ("la constante MAX_RETRIES", [("MAX_RETRIES", "symbol:maxretries")]),
    ("MAX_RETRIES", [("MAX_RETRIES", "symbol:maxretries")]),
    ("¿dónde está __init__?", [("__init__", "symbol:init")]),
    ("_private_name", [("_private_name", "symbol:privatename")]),
    ("HTTPServer", [("HTTPServer", "symbol:httpserver")]),
    ("el método get", [("get", "symbol:get")]),
    ("func Start", [("Start", "symbol:start")]),
    ("@login_required", [("login_required", "symbol:loginrequired")]),
    ("'validate_token'", [("validate_token", "heading:validate token")]),
    ("auth.go::login", [("auth.go", "file:auth.go"), ("login", "symbol:login")]),
    ("src/auth.py:Session.close", [("src/auth.py", "file:auth.py"), ("Session.close", "symbol:session.close")]),
    ("la función login de auth.go", [("login", "symbol:login"), ("auth.go", "file:auth.go")]),
]  # fmt: skip
NUMBERED = [
    ("cláusula segunda", [("cláusula segunda", "clause:2")]),
    ("la cláusula 4.2", [("cláusula 4.2", "clause:4.2")]),
    ("CLÁUSULA 4.2", [("CLÁUSULA 4.2", "clause:4.2")]),
    ("clausula n.º 7", [("clausula n.º 7", "clause:7")]),
    ("CLÁUSULA VIGÉSIMA PRIMERA", [("CLÁUSULA VIGÉSIMA PRIMERA", "clause:21")]),
    ("cláusula segunda bis", [("cláusula segunda bis", "clause:2 bis")]),
    ("cláusula IV", [("cláusula IV", "clause:4")]),
    ("cláusulas 3 y 4", [("cláusulas 3", "clause:3"), ("4", "clause:4")]),
    ("cláusulas segunda y tercera", [("cláusulas segunda", "clause:2"), ("tercera", "clause:3")]),
    ("cláusulas 3 a 5", [("cláusulas 3", "clause:3"), ("4", "clause:4"), ("5", "clause:5")]),
    ("cláusula cuarta, apartado 2", [("cláusula cuarta, apartado 2", "clause:4.2")]),
    ("el apartado 2 de la cláusula cuarta", [("apartado 2 de la cláusula cuarta", "clause:4.2")]),
    ("clauses 3 and 4", [("clauses 3", "clause:3"), ("4", "clause:4")]),
    ("artículo 14", [("artículo 14", "article:14")]),
    ("art. 14", [("art. 14", "article:14")]),
    ("Art.14", [("Art.14", "article:14")]),
    ("arts. 14 y 15", [("arts. 14", "article:14"), ("15", "article:15")]),
    ("Art. 14 bis", [("Art. 14 bis", "article:14 bis")]),
    ("artículo primero", [("artículo primero", "article:1")]),
    ("artículo 14.2", [("artículo 14.2", "article:14.2")]),
    ("artículo 14 de la Ley 39/2015", [("artículo 14", "article:14")]),
    ("artigo 7", [("artigo 7", "article:7")]),
    ("article 5", [("article 5", "article:5")]),
    ("§ 14", [("§ 14", "article:14")]),
    ("sección 3", [("sección 3", "heading:seccion 3")]),
    ("ANEXO II", [("ANEXO II", "heading:anexo ii")]),
]
HEADINGS = [
    ("«Plazo de entrega»", [("Plazo de entrega", "heading:plazo de entrega")]),
    ("¿qué dice “Plazo de entrega”?", [("Plazo de entrega", "heading:plazo de entrega")]),
    ("‘Plazo de entrega’", [("Plazo de entrega", "heading:plazo de entrega")]),
    ("el apartado Plazo de entrega", [("Plazo de entrega", "heading:plazo de entrega")]),
    ("la sección «Garantías y plazos»", [("Garantías y plazos", "heading:garantias y plazos")]),
    ("el apartado sobre protección de datos", [("protección de datos", "heading:proteccion de datos")]),
    ("la cláusula de confidencialidad", [("confidencialidad", "heading:confidencialidad")]),
    ("el epígrafe Ámbito de aplicación", [("Ámbito de aplicación", "heading:ambito de aplicacion")]),
    ("disposición adicional primera", [("adicional primera", "heading:disposicion adicional primera")]),
    ("section Getting started", [("Getting started", "heading:getting started")]),
]
CODES = [
    ("¿de cuánto es FAC-2024-0113?", [("FAC-2024-0113", "identifier:fac20240113")]),
    ("pedido ACME/2024/7", [("ACME/2024/7", "identifier:acme20247")]),
    ("norma ISO-27001", [("ISO-27001", "identifier:iso27001")]),
    ("NIF B12345678", [("B12345678", "identifier:b12345678")]),
    ("el expediente 12345678Z", [("12345678Z", "identifier:12345678z")]),
    ("la tabla A-38", [("A-38", "identifier:a38")]),
    ("«FAC-2024-0113»", [("FAC-2024-0113", "identifier:fac20240113")]),
]


@pytest.mark.parametrize(("query", "said"), FILES + SYMBOLS + NUMBERED + HEADINGS + CODES)
def test_what_a_phrase_mentions(query: str, said: list[tuple[str, str]]) -> None:
    results = strong(query)
    assert [(mention.text, mention.names[0]) for mention in results] == said
    assert all(query[mention.start : mention.end] == mention.text or " a " in query for mention in results)


@pytest.mark.parametrize(
    "query",
    [
        "¿Cuál es el plazo de entrega?", "a las 14 h", "art director", "el artículo de ayer", "3.5 millones",
        "12/05/2024", "2024-05-12", "a las 10:30", "1.234,56 €", "50 %", "el 3 de mayo de 2024", "cuesta 20 EUR",
        "escribe a ana@acme.es", "a ana7@acme.dev", "https://acme.com/src/auth.go", "www.acme.com/auth.py",
        "visita acme.com", "mailto:ana@acme.es", "localhost:8080", "p.ej. los plazos", "EE.UU. y S.A.",
        "a.m.", "i.e. this", "e.g. that",
        "y/o", "24/7", "km/h", "el contrato(s) firmado(s)", "the article I wrote", "una cláusula dos veces", "30kg",
        "24h", "v1.2.3", "versión 3.11", "gracias por todo", "el artículo vi ayer", "hola", "el 1º y el 2.º",
        "la primera vez", "tipo de interés", "clase de yoga", "teléfono +34 91 555 12 34", "los PDFs y las APIs",
        "el archivo", "la función", "the function of the board", "¿qué artículo?", "cláusula", "ADEMÁS DE ESO",
        "¿la función hace algo?", "the class works", "10-12 personas", "estado del arte", "", "   ", "...", "¿?", "'",
        "«»", "``", "a", "1", "e-mail", "📄", "no lo sé", "un millón de euros", "¿me ayudas?", "el punto de partida",
        "el artículo 3,5 veces",
    ],
)  # fmt: skip
def test_what_mentions_nothing(query: str) -> None:
    assert strong(query) == []


def test_function_words_numbers_and_words_that_ask_are_not_even_weak() -> None:
    assert mentions("¿y por qué no, para ella? Dime cuál es. Fix it: 14, 2024, 3.5") == ()


def test_plain_words_are_weak_mentions_of_a_symbol_or_a_file() -> None:
    fix, bug = mentions("Fix auth bug")[:1], [item for item in mentions("Fix auth bug") if item.word == "bug"]
    assert [item.names for item in bug] == [("symbol:bug", "stem:bug")]
    assert [item.text for item in fix] == ["auth bug"]
    names = weak_names("Fix auth bug")
    assert sorted(names) == ["stem:auth", "stem:authbug", "stem:bug", "symbol:auth", "symbol:authbug", "symbol:bug"]


def test_words_that_spell_a_compound_name_together() -> None:
    said = mentions("how does validate the session token work")
    assert [item.text for item in said if " " in item.text] == [
        "validate the session token", "validate the session", "session token",
    ]  # fmt: skip
    assert weak_names("end of file")[:2] == ["symbol:endoffile", "stem:endoffile"]
    assert all(item.weak for item in said)


def test_words_are_joined_across_no_punctuation() -> None:
    assert not [name for name in weak_names("validate, token") if "validatetoken" in name]
    assert not [name for name in weak_names("validate\n\ntoken") if "validatetoken" in name]


def test_english_puts_the_name_before_its_cue() -> None:
    assert "symbol:usersession" in weak_names("the user session class")
    assert "stem:auth" in weak_names("the auth module")
    assert "heading:confidentiality" in weak_names("the confidentiality clause")


def test_a_code_may_be_written_with_blanks() -> None:
    assert "identifier:iso27001" in weak_names("la norma ISO 27001")
    assert "identifier:fac20240113" in weak_names("la factura FAC 2024 0113")


def test_a_path_keeps_its_folders() -> None:
    (path,) = strong(r"C:\Proyectos\Web\app.ts")
    assert (path.folders, path.rooted, path.extension) == (("proyectos", "web"), True, "ts")
    (path,) = strong("./src/auth/../login/auth.go:3")
    assert (path.folders, path.rooted) == (("src", "auth", "login"), False)
    (folder,) = [item for item in mentions("login de src/auth") if item.folders]
    assert (folder.weak, folder.folders, folder.names) == (True, ("src",), ("file:auth", "stem:auth"))


def test_what_a_symbol_is_said_to_stand_in() -> None:
    assert strong("Session.validate")[0].qualifiers == ("session",)
    assert strong("self.validate_token")[0].qualifiers == ()
    assert strong("src/auth.go::Session.login")[1].qualifiers == ("src", "auth.go", "session")
    assert strong("pkg.mod.my_func")[0].names[:3] == ("symbol:pkg.mod.myfunc", "symbol:mod.myfunc", "symbol:myfunc")


def test_the_longest_name_that_there_is_comes_first() -> None:
    (heading,) = strong("el apartado Plazo de entrega del contrato")
    assert heading.names == ("heading:plazo de entrega del contrato", "heading:plazo de entrega", "heading:plazo")
    assert [heading.written(name) for name in heading.names] == [
        "Plazo de entrega del contrato", "Plazo de entrega", "Plazo",
    ]  # fmt: skip
    (file,) = strong("el Contrato Acme.pdf")
    assert [file.written(name) for name in file.names] == ["Contrato Acme.pdf", "Acme.pdf", "Acme.pdf"]


def test_a_part_falls_back_to_what_it_stands_in() -> None:
    assert strong("cláusula cuarta, apartado 2")[0].names == ("clause:4.2", "clause:4")
    assert strong("art. 14.2.a)")[0].names == ("article:14.2.a", "article:14.2", "article:14")


def test_places_are_those_of_the_composed_text() -> None:
    (mention,) = strong("cla\u0301usula 4.2")
    assert (mention.text, mention.start, mention.end) == ("cláusula 4.2", 0, 12)


def test_a_query_full_of_names_is_looked_up_in_part() -> None:
    assert len(strong(" ".join(f"file_{number}.py" for number in range(500)))) == MAX_STRONG
    words = " ".join(f"palabra{chr(97 + number % 26)}{chr(97 + number // 26)}" for number in range(300))
    assert len({item.word for item in mentions(words)} - {None}) == MAX_WEAK_WORDS


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "cláusula ", "«", '"', "`a", "'a'", "a.b.", "a/", "../", "a::", "f(", "x@", "a-", "w.", "http", "http:", "a_b ",
        "§", "¿", "\\", "e\u0301",
        "a.md y ", "d'or.md ", "(b).md ", "close de ", "a/b.c(", "a\u2013",
        *(
            pytest.param(unit, marks=pytest.mark.soak)
            for unit in ("A 1 ", "1 y ", "archivo ", "f(a, ", "función de ", "sección Uno ", "art. 1, ")
        ),
    ],
)  # fmt: skip
def test_a_long_query_takes_no_longer_than_its_length(unit: str) -> None:
    """Quadratic work on 100,000 characters takes many minutes, more than the time limit of the test."""
    query = (unit * (100_000 // len(unit) + 1))[:100_000]
    assert len(mentions(query)) < 1000
