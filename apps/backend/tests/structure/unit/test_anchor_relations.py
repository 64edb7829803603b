"""What the words around a mention say: of which file, of which class, of which kind; and how strong a mention is."""

from __future__ import annotations

import pytest

from ragcorp.domain.structure.entities import EntityKind, EntityRef
from ragcorp.domain.structure.hydration import AnchorReason, WarningCode
from ragcorp.domain.text.entity_names import clause_name, heading_name, identifier_name, symbol_name
from support.structure.anchored import Corpus, clause, document, entity

FILE, PROBABLE = AnchorReason.EXPLICIT_FILE_MENTION, AnchorReason.PROBABLE_FILE_MENTION
SYMBOL, CLAUSE = AnchorReason.EXPLICIT_SYMBOL_MENTION, AnchorReason.EXPLICIT_CLAUSE_MENTION

LIFT = [entity(f"src/montacargas.py::f{number}", position=number) for number in range(22)]
BRIDGE = [clause("obra-puente.txt", str(number), position=number) for number in range(1, 5)]
MERINDE = [clause("contrato-merinde.md", str(number), position=number) for number in range(1, 12)]


def row(path: str, code: str) -> EntityRef:
    return entity(f"{path}#{code}", EntityKind.IDENTIFIER, 9, code)


def test_a_file_that_a_plain_word_names_comes_behind_every_strong_mention() -> None:
    corpus = Corpus([*LIFT, *MERINDE])
    found = corpus.anchors("¿Qué dice del código del montacargas la cláusula 10 de contrato-merinde?")
    assert found[0] == ("contrato-merinde.md#clause 10", [CLAUSE])
    assert found[1:] == [(item.key, [PROBABLE]) for item in LIFT]
    assert corpus.found("Fix montacargas bug")[0].priority == 85


def test_a_plain_word_names_code_only_where_the_query_speaks_of_code() -> None:
    names = [entity("net.py::Session.flush", EntityKind.METHOD), entity("acl.py::Role", EntityKind.CLASS), *LIFT]
    corpus = Corpus(names)
    for query in (
        "how do I flush the toilet", "what is the role of the buyer", "¿Dónde está el montacargas?",
        "¿qué tipo de role es?", "¿Qué dice del montacargas la cláusula 10?",
    ):  # fmt: skip
        assert corpus.keys(query) == [], query
    for query in ("flush", "Fix the flush bug", "does flush call other_thing?", "¿qué hace flush en main.py?"):
        assert corpus.keys(query) == ["net.py::Session.flush"], query


def test_a_weak_symbol_comes_behind_strong_ones() -> None:
    corpus = Corpus([entity("a.py::refund"), entity("b.py::charge_card")])
    assert corpus.keys("the refund after charge_card()") == ["b.py::charge_card", "a.py::refund"]


@pytest.mark.parametrize(
    ("query", "written", "file"),
    [
        ("cláusula 9 de obra-puente.txt", "cláusula 9", "obra-puente.txt"),
        ("¿Qué dice la cláusula 9 del contrato obra-puente?", "cláusula 9", "obra-puente.txt"),
        ("cláusula 9 de obra-puente", "cláusula 9", "obra-puente.txt"),
        ("Según obra-puente.txt, ¿qué dice la cláusula 9?", "cláusula 9", "obra-puente.txt"),
        ("obra-puente.txt: cláusula 9", "cláusula 9", "obra-puente.txt"),
        ("clause 9 (obra-puente.txt)", "clause 9", "obra-puente.txt"),
        ("clause 9 of the file obra-puente.txt", "clause 9", "obra-puente.txt"),
        ("artículo 15 de obra-puente.txt", "artículo 15", "obra-puente.txt"),
        ("la cláusula 4 de perdido.txt", "cláusula 4", "perdido.txt"),
        ("la cláusula 9 de Acta Ñ (firmada).txt", "cláusula 9", "Acta Ñ (firmada).txt"),
    ],
)
def test_what_a_named_document_lacks_is_not_taken_from_another(query: str, written: str, file: str) -> None:
    article = entity("ley.txt#article 15", EntityKind.ARTICLE, 1, "Artículo 15")
    corpus = Corpus([*BRIDGE, *MERINDE, article, entity("Acta Ñ (firmada).txt", EntityKind.FILE)])
    assert {key.partition("#")[0] for key in corpus.keys(query)} <= {"obra-puente.txt", "Acta Ñ (firmada).txt"}
    assert corpus.warnings == [f"`{written}` is not found in {file}; no other is shown for it."]
    assert corpus.resolution.warnings[0].code is WarningCode.NOT_FOUND
    assert corpus.resolution.warnings[0].document_id == (None if file == "perdido.txt" else document(file))


def test_codes_headings_and_symbols_are_not_taken_from_another_either() -> None:
    error, price = row("otro.md", "E01"), entity("otro.md#Precio", EntityKind.SECTION, 1, "Precio")
    login, run = entity("auth.py::login"), entity("pipeline.py::run")
    crm = entity("manual-crm.md", EntityKind.FILE)
    corpus = Corpus(
        [error, price, crm, login, run],
        extra_names={error.key: (identifier_name("E01"),), price.key: (heading_name("Precio"),)},
    )
    for query in ("E01 en manual-crm.md", "apartado «Precio» de manual-crm.md", "el error E01 de manual-crm.md"):
        assert corpus.keys(query) == [crm.key], query
        assert len(corpus.warnings) == 1, query
    assert corpus.keys("función login de pipeline.py") == [run.key]
    assert corpus.warnings == ["`login` is not found in pipeline.py; no other is shown for it."]
    assert corpus.keys("pipeline.py::login") == [run.key]


def test_what_only_stands_beside_a_file_is_found_elsewhere() -> None:
    login, run = entity("auth.py::login"), entity("pipeline.py::run")
    code = row("otro.md", "FAC-2024-0113")
    corpus = Corpus([login, run, code, *BRIDGE, *MERINDE], extra_names={code.key: (identifier_name("FAC-2024-0113"),)})
    assert login.key in corpus.keys("¿dónde se usa `login` en pipeline.py?")
    assert login.key in corpus.keys("según obra-puente.txt, la función login es necesaria")
    assert code.key in corpus.keys("¿cumple la FAC-2024-0113 con obra-puente.txt?")
    assert "contrato-merinde.md#clause 9" in corpus.keys("pipeline.py incumple la cláusula 9")
    assert "contrato-merinde.md#clause 9" in corpus.keys("¿cumple obra-puente.txt la cláusula 9 de Merinde?")
    assert "contrato-merinde.md#clause 9" in corpus.keys("la cláusula 9 de merinde respecto a obra-puente.txt")
    assert login.key in corpus.keys("el fallo de `login` de usuarios en pipeline.py")
    both = corpus.keys("compara la cláusula 4 de obra-puente.txt con la cláusula 9 de contrato-merinde.md")
    assert both[:2] == ["obra-puente.txt#clause 4", "contrato-merinde.md#clause 9"]
    assert corpus.warnings == []


def test_one_number_of_several_files_is_that_of_each() -> None:
    corpus = Corpus([*BRIDGE, *MERINDE])
    for query in (
        "cláusula 4 de contrato-merinde.md y obra-puente.txt", "cláusula 4 de contrato-merinde.md y de obra-puente.txt",
        "la cláusula 4 de contrato-merinde.md con la de obra-puente.txt",
        "clause 4 in contrato-merinde.md and obra-puente.txt",
    ):  # fmt: skip
        assert corpus.keys(query)[:2] == ["contrato-merinde.md#clause 4", "obra-puente.txt#clause 4"], query
        assert corpus.warnings == []
    twice = corpus.keys("en obra-puente.txt, la cláusula 4 de obra-puente.txt")
    assert (twice[0], corpus.warnings) == ("obra-puente.txt#clause 4", [])
    lists = corpus.keys("cláusulas 3 y 4 de contrato-merinde.md y obra-puente.txt")[:4]
    assert sorted(lists) == sorted(
        f"{path}#clause {n}" for path in ("contrato-merinde.md", "obra-puente.txt") for n in (3, 4)
    )
    corpus.keys("cláusula 8 de contrato-merinde.md y obra-puente.txt")
    assert corpus.warnings == ["`cláusula 8` is not found in obra-puente.txt; no other is shown for it."]


def test_files_take_turns_so_that_none_fills_the_budget() -> None:
    keys = Corpus([*MERINDE, *BRIDGE]).keys("contrato-merinde.md y obra-puente.txt")
    assert keys[:8] == [
        f"{path}#clause {number}" for number in (1, 2, 3, 4) for path in ("contrato-merinde.md", "obra-puente.txt")
    ]


METHODS = [
    entity("a/x.py::Client.close", EntityKind.METHOD),
    entity("a/y.py::Session.close", EntityKind.METHOD, 1),
    entity("web/client.js::get"),
    entity("srv/auth.go::Server.Login", EntityKind.METHOD),
    entity("srv/auth.go::Server.Logout", EntityKind.METHOD, 1),
    entity("py/session.py::login"),
]


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("el método close de Session", ["a/y.py::Session.close"]),
        ("el método close de la clase Session", ["a/y.py::Session.close"]),
        ("el método close de Client", ["a/x.py::Client.close"]),
        ("the close method of Session", ["a/y.py::Session.close"]),
        ("`close` of Session", ["a/y.py::Session.close"]),
        ("método Login de Server", ["srv/auth.go::Server.Login"]),
        ("el método login", ["srv/auth.go::Server.Login"]),
        ("la función Login", ["py/session.py::login"]),
        ("los métodos Login y Logout", ["srv/auth.go::Server.Login", "srv/auth.go::Server.Logout"]),
        ("los métodos login y logout de Server", ["srv/auth.go::Server.Login", "srv/auth.go::Server.Logout"]),
    ],
)
def test_owner_and_kind_choose(query: str, keys: list[str]) -> None:
    corpus = Corpus(METHODS)
    assert corpus.keys(query) == keys
    assert corpus.warnings == []


def test_an_owner_that_has_no_such_part_decides_nothing() -> None:
    assert Corpus(METHODS).keys("el método logout de la parte de pagos") == ["srv/auth.go::Server.Logout"]


def test_a_member_that_is_no_entity_is_its_class() -> None:
    role = entity("acl.py::Role", EntityKind.CLASS)
    path = entity("os.py::Path", EntityKind.CLASS)
    corpus = Corpus([role, path])
    for query in ("Role.Admin", "`Role.Admin`", "¿qué es acl.Role.Admin?", "Role::Admin"):
        assert corpus.anchors(query) == [(role.key, [SYMBOL])], query
    assert corpus.keys("os.path.join") == corpus.keys("Cursor.Admin") == corpus.keys("other.Role.Admin") == []
    stored = Corpus([role], extra_names={role.key: (symbol_name("Role.Admin"),)})
    assert stored.keys("role.admin") == [role.key]


def test_main_is_a_name() -> None:
    mains = [entity("cmd/api/main.go::main"), entity("cmd/worker/main.go::main")]
    corpus = Corpus(mains)
    assert corpus.keys("la función main de cmd/worker") == [mains[1].key]
    assert corpus.keys("la función main") == [mains[0].key]
    assert Corpus([entity("a.py::next"), entity("a.py::size", position=1)]).keys("el método size") == ["a.py::size"]


def test_words_that_say_which_document_weigh_more_than_what_it_is() -> None:
    contracts = [clause("contrato-merinde.md", "4"), clause("suministro-tecnovia.md", "4"), clause("2024-0031.md", "4")]
    corpus = Corpus(contracts, titles={"2024-0031.md": "Contrato de mantenimiento con Ascensores Bravo"})
    assert corpus.keys("cláusula 4 del contrato de Tecnovía") == ["suministro-tecnovia.md#clause 4"]
    assert corpus.keys("cláusula 4 del contrato con Ascensores Bravo") == ["2024-0031.md#clause 4"]
    many = [clause(f"a/contrato-empresa{number:03}.md", "4") for number in range(60)]
    far = clause("zzz/largo/mas/contrato-vidrieras-cristales.md", "4")
    corpus = Corpus([*many, far], limit=5)
    for query in ("cláusula 4 de zzz/largo/mas", "cláusula 4 del contrato de vidrieras"):
        assert corpus.keys(query) == [far.key], query


@pytest.mark.parametrize(
    "stem", ["contrato-vidrieras-y-cristales", "contrato-a-plazos", "plan-b", "01-introduccion", "2024-0031-acme",
             "2024-0031", "contrato_acme_v1.2", "oferta_2024", "1-alcance"],
)  # fmt: skip
def test_the_stem_of_a_document_brings_it_near(stem: str) -> None:
    corpus = Corpus([clause("aaa.md", "4"), clause(f"zzz/deep/{stem}.md", "4")])
    for query in (f"cláusula 4 de {stem}", f"la cláusula 4 según {stem}", f"{stem}: cláusula 4"):
        assert corpus.keys(query) == [f"zzz/deep/{stem}.md#clause 4"], query


@pytest.mark.parametrize("name", ["Contrato Ñandú (firmado).md", "contrato-d'or.md", "Pérez & Cía (v2).md", "I+D.md"])
def test_a_file_s_name_may_have_other_signs(name: str) -> None:
    corpus = Corpus([clause("aaa.md", "4"), clause(f"docs/{name}", "4")])
    for query in (f"cláusula 4 de {name}", f"¿Qué dice {name}?", f"abre «{name}»", f"({name})"):
        assert corpus.keys(query) == [f"docs/{name}#clause 4"], query


@pytest.mark.parametrize(
    ("code", "query"),
    [
        ("ERR_4031", "¿qué es ERR_4031?"), ("E_TIMEOUT_12", "código E_TIMEOUT_12"), ("ABC_2024", "`ABC_2024`"),
        ("AB-12", "REF:AB-12"), ("E-318", "el error E\u2011318"), ("BL-2024-031", "BL\u20132024\u2013031"),
        ("ES91 2100 0418 4502 0005 1332", "¿de quién es ES91 2100 0418 4502 0005 1332?"),
        ("FRA-2024-0999", "FRA\u22122024\u22120999"),
    ],
)  # fmt: skip
def test_codes_in_any_writing(code: str, query: str) -> None:
    stored = row("manual.md", code)
    assert Corpus([stored], extra_names={stored.key: (identifier_name(code),)}).keys(query) == [stored.key]


def test_a_line_of_a_go_panic() -> None:
    login, other = entity("internal/auth/auth.go::Server.Login", EntityKind.METHOD), entity("x.go::ValidateToken")
    corpus = Corpus([login, other, entity("y.go::Client.Login", EntityKind.METHOD)])
    assert corpus.keys("github.com/acme/internal/auth.ValidateToken(0x1)") == []
    assert corpus.keys("github.com/acme/internal/x.ValidateToken(0x1)") == [other.key]
    assert corpus.keys("github.com/acme/backend/internal/auth.(*Server).Login(0xc000)") == [login.key]


def test_an_absolute_path_finds_a_file_under_another_prefix() -> None:
    corpus = Corpus([entity("proj/internal/auth/auth.go::a"), entity("proj/web/auth/auth.go::b"), entity("auth.go::c")])
    assert corpus.keys("/app/backend/internal/auth/auth.go:45") == ["proj/internal/auth/auth.go::a"]
    assert corpus.keys("backend/internal/auth/auth.go") == []
    assert corpus.keys("/srv/x/pay.go") == []


def test_a_numbered_section_answers_to_a_clause_only_where_no_clause_does() -> None:
    guide = entity("guias/guardias.md#2. El relevo", EntityKind.SECTION, name="2. El relevo")
    contract = clause("contratos/largo/camino/acme.md", "2", "CLÁUSULA SEGUNDA. Duración")
    numbered = {guide.key: (clause_name("2"),)}
    both = Corpus([guide, contract], extra_names=numbered)
    assert both.keys("¿Qué dice la cláusula segunda?") == [contract.key]
    assert both.warnings == []
    assert both.keys("¿Qué dice la cláusula segunda de guardias.md?") == [guide.key]
    assert Corpus([guide], extra_names=numbered).keys("¿Qué dice la cláusula 2?") == [guide.key]


def test_a_documents_article_may_be_called_its_clause_and_no_others() -> None:
    third = entity("contratos/marco.md#article 3", EntityKind.ARTICLE, name="Artículo 3. Precio")
    other = clause("contratos/otro.md", "3", "CLÁUSULA TERCERA. Plazo")
    assert Corpus([third]).keys("¿Qué dice la cláusula tercera de marco.md?") == ["contratos/marco.md#article 3"]
    assert Corpus([third, other]).keys("¿Qué dice la cláusula tercera de marco.md?")[:1] == [third.key]
    assert Corpus([third]).keys("¿Qué dice la cláusula tercera?") == []
    assert Corpus([other]).keys("¿Qué dice el artículo 3 del Estatuto?") == []
