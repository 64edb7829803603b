"""From mentions to anchors: which entity of many, in which order, with which reasons and warnings."""

from __future__ import annotations

import pytest

from ragcorp.application.structure.anchors import AnchorOptions, resolve, wanted_names
from ragcorp.application.structure.mentions.entities import Evidence, names_of
from ragcorp.application.structure.mentions.files import mentioned_files
from ragcorp.application.structure.mentions.parsing import mentions
from ragcorp.domain.exceptions import ConfigurationError
from ragcorp.domain.ports.structure import Named, SyntaxNeighbours
from ragcorp.domain.structure.entities import EntityKind, EntityRef
from ragcorp.domain.structure.hydration import AnchorReason
from ragcorp.domain.text.entity_names import article_name, clause_name, heading_name, identifier_name, symbol_name
from support.structure.anchored import Corpus, clause, entity

FILE = AnchorReason.EXPLICIT_FILE_MENTION
SYMBOL = AnchorReason.EXPLICIT_SYMBOL_MENTION
CLAUSE = AnchorReason.EXPLICIT_CLAUSE_MENTION
HEADING = AnchorReason.EXPLICIT_HEADING_MENTION
CODE = AnchorReason.EXPLICIT_IDENTIFIER_MENTION
PREVIOUS = AnchorReason.HYDRATED_PREVIOUS_TURN
CALLS, CALLED_BY, SAME_FILE = AnchorReason.AST_CALLS, AnchorReason.AST_CALLED_BY, AnchorReason.AST_SAME_FILE


AUTH = [
    entity("src/auth/auth.go", EntityKind.FILE, 0),
    entity("src/auth/auth.go::Session", EntityKind.CLASS, 1),
    entity("src/auth/auth.go::Session.Validate", EntityKind.METHOD, 2),
    entity("src/auth/auth.go::login", position=3),
]
PAY = [entity("src/pay/pay.go::charge", position=0), entity("src/pay/pay.go::refund", position=1)]


def test_a_file_anchors_its_entities_in_text_order() -> None:
    corpus = Corpus([*PAY, *reversed(AUTH)])
    found = corpus.found("Fix the authentication bug in auth.go")
    assert [item.entity.key for item in found] == [item.key for item in AUTH]
    assert {item.priority for item in found} == {100}
    assert corpus.warnings == []


@pytest.mark.parametrize(
    "query",
    [
        "AUTH.GO", "`auth.go`", "«auth.go»", "src/auth/auth.go", "auth/auth.go:12", r"C:\repo\src\auth\auth.go",
        "el archivo auth", "fichero «auth»", "`auth`", "module auth", "Fix auth bug", "/repo/src/auth/auth.go",
        "./auth/auth.go", "the auth module", "src/auth/auth",
    ],
)  # fmt: skip
def test_a_file_is_found_in_any_writing(query: str) -> None:
    assert Corpus([*PAY, *AUTH]).keys(query) == [item.key for item in AUTH]


@pytest.mark.parametrize(
    "query", ["pay/auth.go", "uth.go", "auth.py", "rc/auth/auth.go", "pay/src/auth/auth.go", "other/auth"]
)
def test_a_path_ends_with_whole_parts(query: str) -> None:
    assert Corpus([*PAY, *AUTH]).keys(query) == []


def test_a_file_s_identifiers_are_left_out() -> None:
    row = entity("docs/a.md#FAC-1", EntityKind.IDENTIFIER, 1, "FAC-1")
    assert Corpus([entity("docs/a.md", EntityKind.FILE), row]).keys("a.md FAC-2") == ["docs/a.md"]


def test_a_symbol_in_a_file_keeps_both_reasons_and_leads_its_file() -> None:
    corpus = Corpus([*PAY, *AUTH])
    for query in ("auth.go::login", "la función login de auth.go", "login in auth.go", "`login` (src/auth/auth.go)"):
        assert corpus.anchors(query)[:2] == [
            ("src/auth/auth.go::login", [FILE, SYMBOL]), ("src/auth/auth.go", [FILE]),
        ], query  # fmt: skip
        assert corpus.warnings == []


@pytest.mark.parametrize(
    "query",
    [
        "validate_token", "validateToken", "ValidateToken()", "`Validate-Token`", "«validate token»",
        "la función validate token", "how does validate token work", "el método validate-token", "VALIDATE_TOKEN",
        "check.validate_token", "util::validate_token", "self.validate_token()", "src.util.check.validate_token",
    ],
)  # fmt: skip
def test_a_symbol_is_found_in_any_writing(query: str) -> None:
    token = entity("src/util/check.py::validate_token")
    corpus = Corpus([*PAY, token])
    assert corpus.anchors(query) == [(token.key, [SYMBOL])]
    assert corpus.found(query)[0].priority == 90


def many_logins() -> list[EntityRef]:
    """Twelve functions of one name."""
    paths = [f"src/m{number:02}/deep/handler.py" for number in range(10)]
    return [entity(f"{path}::login") for path in (*paths, "src/web/login.py", "src/auth/login.py")]


def test_one_of_many_is_taken_and_the_others_are_told_of() -> None:
    corpus = Corpus(many_logins())
    assert corpus.keys("¿qué hace `login`?") == ["src/web/login.py::login"]
    assert corpus.warnings == ["`login` names 12 entities; the one in src/web/login.py is shown."]
    assert corpus.resolution.warnings[0].key == "src/web/login.py::login"


def test_what_the_query_names_is_nearest() -> None:
    corpus = Corpus(many_logins())
    assert corpus.keys("la función login de src/auth") == ["src/auth/login.py::login"]
    assert corpus.keys("la función login de src/m03/deep") == ["src/m03/deep/handler.py::login"]
    assert corpus.keys("la función login de la parte de auth") == ["src/auth/login.py::login"]
    assert corpus.keys("la función login de src/m03/deep/handler.py") == ["src/m03/deep/handler.py::login"]
    assert corpus.warnings == []


def test_then_what_was_shown_before_latest_first() -> None:
    corpus = Corpus(many_logins())
    turns = [entity("src/m05/deep/handler.py::logout"), entity("src/m07/deep/handler.py::logout")]
    assert corpus.keys("`login`", turns)[0] == "src/m05/deep/handler.py::login"
    assert corpus.keys("`login`", turns[::-1])[0] == "src/m07/deep/handler.py::login"
    far, near = entity("src/other.py::x"), entity("src/m07/deep/handler.py::logout")
    assert corpus.keys("`login`", [far, near])[0] == "src/m07/deep/handler.py::login"


def test_a_mention_of_a_mentioned_file_is_found_past_the_limit_of_a_name() -> None:
    entities = [clause(f"contratos/c{number:03}.md", "4.2") for number in range(60)]
    corpus = Corpus(entities, limit=5)
    assert corpus.keys("cláusula 4.2 de c059.md")[0] == "contratos/c059.md#clause 4.2"
    assert corpus.keys("la cláusula 4.2 del c059") == ["contratos/c059.md#clause 4.2"]
    assert corpus.keys("la cláusula 4.2") == ["contratos/c000.md#clause 4.2"]
    assert corpus.warnings == ["`cláusula 4.2` names 60 entities; the one in contratos/c000.md is shown."]


def test_each_mention_takes_the_file_that_is_named_nearest_to_it() -> None:
    entities = [entity("a.py::run"), entity("b.py::run"), entity("b.py::stop")]
    corpus = Corpus(entities)
    assert corpus.anchors("compara `stop` en b.py con `run` en a.py") == [
        ("b.py::stop", [FILE, SYMBOL]), ("a.py::run", [FILE, SYMBOL]), ("b.py::run", [FILE]),
    ]  # fmt: skip
    assert corpus.anchors("run_all en a.py, `run` en b.py")[0] == ("b.py::run", [FILE, SYMBOL])


def test_overloads_are_one_symbol() -> None:
    saves = [
        entity("a.py::save", position=1),
        entity("a.py::save (2)", position=2),
        entity("a.py::save (3)", position=3),
    ]
    corpus = Corpus([*saves[::-1], entity("a.py::other", position=4)])
    for query in ("`save`", "the save function", "save()"):
        assert (corpus.keys(query), corpus.warnings) == ([item.key for item in saves], []), query
    corpus = Corpus([*saves, entity("deep/b.py::save")])
    assert corpus.keys("`save`") == [item.key for item in saves]
    assert corpus.warnings == ["`save` names 4 entities; the one in a.py is shown."]
    assert corpus.keys("the save function") == []


def test_more_than_a_thousand_are_not_counted() -> None:
    one = entity("a.py::run")
    said = mentions("`run`")
    named = {"symbol:run": Named(items=(one,), matches=1000)}
    files = mentioned_files(said, {}, named)
    result = resolve(said, files, Evidence(named=named))
    assert result.warnings[0].message == "`run` names 1000 or more entities; the one in a.py is shown."


def test_a_qualified_mention_needs_all_its_parts() -> None:
    entities = [entity("a.py::Session.close", EntityKind.METHOD), entity("net/pool.py::Pool.close", EntityKind.METHOD)]
    corpus = Corpus(entities)
    assert corpus.keys("Session.close") == ["a.py::Session.close"]
    assert corpus.keys("pool::close") == ["net/pool.py::Pool.close"]
    assert corpus.keys("net.pool.close()") == ["net/pool.py::Pool.close"]
    assert corpus.keys("close de pool.py")[0] == "net/pool.py::Pool.close"
    assert corpus.keys("Cursor.close()") == []
    assert corpus.keys("b.py::close") == []
    assert corpus.warnings == []


def test_several_files_of_a_name() -> None:
    entities = [entity("web/api/auth.go::a"), entity("auth/auth.go::b"), entity("auth.md", EntityKind.FILE)]
    corpus = Corpus(entities)
    assert corpus.keys("auth.go") == ["auth/auth.go::b"]
    assert corpus.warnings == ["`auth.go` names 2 files; auth/auth.go is shown."]
    assert corpus.keys("api/auth.go") == ["web/api/auth.go::a"]
    assert corpus.warnings == []
    assert corpus.keys("auth.go", [entity("web/api/users.go::c")])[0] == "web/api/auth.go::a"
    assert corpus.keys("Fix auth bug") == []


def test_the_whole_path_is_not_ambiguous() -> None:
    corpus = Corpus([entity("src/auth.go::a"), entity("old/src/auth.go::b")])
    assert (corpus.keys("src/auth.go"), corpus.warnings) == (["src/auth.go::a"], [])


def test_quotes_prefer_a_symbol_to_the_file_of_that_stem() -> None:
    corpus = Corpus([entity("src/login.py::login"), entity("src/login.py::other", position=1)])
    assert corpus.keys("`login`") == ["src/login.py::login"]
    assert corpus.keys("archivo `login`") == ["src/login.py::login", "src/login.py::other"]


def test_plain_words_count_where_one_thing_has_that_name_and_the_word_is_rare() -> None:
    refund = "src/pay/pay.go::refund"
    assert Corpus([*PAY, *AUTH]).keys("Fix the refund bug") == [refund]
    assert Corpus([*PAY, entity("b.py::refund")]).keys("Fix the refund bug") == []
    assert Corpus(PAY, frequencies={"refund": 10}).keys("Fix the refund bug") == [refund]
    assert Corpus(PAY, frequencies={"refund": 11}).keys("Fix the refund bug") == []
    assert Corpus(PAY, frequencies={"refund": 11}, chunks=1100).keys("Fix the refund bug") == [refund]
    assert Corpus(PAY, frequencies={"refund": 999}).keys("when is `refund` called") == [refund]


def test_words_together_count_for_a_compound_name_only() -> None:
    corpus = Corpus([entity("a.py::set_up"), entity("a.py::planb", position=1), entity("a.py::UserID", position=2)])
    assert corpus.keys("el plan base y plan bbb") == []
    assert corpus.keys("the plan bis") == []
    assert corpus.keys("find the user iden") == []
    assert Corpus([entity("a.py::plan_base")]).keys("el plan base") == ["a.py::plan_base"]
    assert Corpus([entity("a.py::planbase")]).keys("el plan base") == []
    assert Corpus([entity("a.py::plan_base"), entity("b.py::planBase")]).keys("el plan base") == []


def test_a_longer_run_of_words_leaves_no_place_for_those_in_it() -> None:
    entities = [entity("a.py::session_token"), entity("b.py::token"), entity("session.py::x")]
    assert Corpus(entities).keys("how is the session token made") == ["a.py::session_token"]


CONTRACT = [
    entity("acme.md", EntityKind.FILE, 0),
    clause("acme.md", "4", "CLÁUSULA CUARTA.- Plazo de entrega", 1),
    clause("acme.md", "4.1", "4.1", 2),
    clause("acme.md", "4.2", "4.2", 3),
    entity("acme.md#article 14 bis", EntityKind.ARTICLE, 4, "Artículo 14 bis"),
    entity("acme.md#Garantías", EntityKind.SECTION, 5, "5. Garantías"),
]


@pytest.mark.parametrize(
    ("query", "key", "reason"),
    [
        ("la cláusula cuarta, apartado 2", "acme.md#clause 4.2", CLAUSE),
        ("CLÁUSULA 4.2", "acme.md#clause 4.2", CLAUSE),
        ("clausula 4.1.3", "acme.md#clause 4.1", CLAUSE),
        ("Art. 14 bis", "acme.md#article 14 bis", CLAUSE),
        ("«Plazo de entrega»", "acme.md#clause 4", HEADING),
        ("el apartado Plazo de entrega del contrato", "acme.md#clause 4", HEADING),
        ("la sección de garantías", "acme.md#Garantías", HEADING),
    ],
)
def test_clauses_and_headings(query: str, key: str, reason: AnchorReason) -> None:
    assert Corpus(CONTRACT).anchors(query) == [(key, [reason])]


def test_a_container_comes_with_its_parts() -> None:
    corpus = Corpus(CONTRACT, inside={"acme.md#clause 4": tuple(CONTRACT[2:4])})
    assert corpus.anchors("cláusula cuarta") == [
        ("acme.md#clause 4", [CLAUSE]), ("acme.md#clause 4.1", [CLAUSE]), ("acme.md#clause 4.2", [CLAUSE]),
    ]  # fmt: skip


def test_a_clause_of_the_mentioned_file_goes_before_a_nearer_number_elsewhere() -> None:
    corpus = Corpus([clause("a.md", "4"), clause("b.md", "4.2"), clause("b.md", "4")])
    assert corpus.keys("cláusula 4.2 de a.md") == ["a.md#clause 4"]


def test_codes_are_found_whatever_separates_their_parts() -> None:
    row = entity("facturas.md#FAC-2024-0113", EntityKind.IDENTIFIER, 3, "FAC-2024-0113")
    corpus = Corpus([row], extra_names={row.key: (identifier_name("FAC-2024-0113"),)})
    for query in ("¿y FAC-2024-0113?", "fac/2024/0113", "«FAC 2024 0113»", "FAC20240113", "la FAC 2024 0113"):
        assert corpus.anchors(query) == [(row.key, [CODE])], query


def test_a_constant_is_the_entity_of_its_file() -> None:
    file = entity("conf.py", EntityKind.FILE, name="conf.py")
    corpus = Corpus([file], extra_names={file.key: (symbol_name("MAX_RETRIES"),)})
    assert corpus.anchors("conf.MAX_RETRIES") == [("conf.py", [SYMBOL])]
    assert corpus.anchors("other.MAX_RETRIES") == []


def test_order_and_reasons_of_everything_together() -> None:
    callee, caller, sibling = entity("b.py::hash"), entity("c.py::main"), entity("pay.py::undo", position=9)
    charge = entity("pay.py::charge", position=2)
    corpus = Corpus(
        [*AUTH, charge, callee, caller, sibling],
        neighbours={charge.key: SyntaxNeighbours(calls=(callee, AUTH[3]), called_by=(caller,), same_file=(sibling,))},
    )
    assert corpus.anchors("`charge` llama a auth.go", [sibling, charge, PAY[1]]) == [
        *((item.key, [FILE]) for item in AUTH[:3]),
        ("src/auth/auth.go::login", [FILE, CALLS]),
        ("pay.py::charge", [SYMBOL, PREVIOUS]),
        ("pay.py::undo", [PREVIOUS, SAME_FILE]),
        ("src/pay/pay.go::refund", [PREVIOUS]),
        ("b.py::hash", [CALLS]),
        ("c.py::main", [CALLED_BY]),
    ]


def test_neighbours_are_few_and_shared_out() -> None:
    def around(name: str) -> SyntaxNeighbours:
        calls, called_by, same = (
            tuple(entity(f"{kind}_{name}.py::f{number}") for number in range(6)) for kind in ("x", "y", "z")
        )
        return SyntaxNeighbours(calls=calls, called_by=called_by, same_file=same)

    one, two = entity("a.py::first_one"), entity("b.py::second_one")
    corpus = Corpus([one, two], neighbours={item.key: around(item.name) for item in (one, two)})
    results = corpus.anchors("first_one")
    assert [reasons for _, reasons in results] == [[SYMBOL], *[[CALLS]] * 3, *[[CALLED_BY]] * 3, *[[SAME_FILE]] * 2]
    both = corpus.anchors("first_one y second_one")
    assert [reasons for _, reasons in both] == [*[[SYMBOL]] * 2, *[[CALLS]] * 6, *[[CALLED_BY]] * 2]
    assert [key for key, reasons in both if reasons == [CALLED_BY]] == ["y_first_one.py::f0", "y_second_one.py::f0"]
    none = corpus.anchors("first_one", options=AnchorOptions(neighbours=0))
    assert none == [("a.py::first_one", [SYMBOL])]


def test_only_named_symbols_have_neighbours() -> None:
    neighbours = {item.key: SyntaxNeighbours(calls=(PAY[0],)) for item in (*AUTH, *CONTRACT)}
    corpus = Corpus([*AUTH, *CONTRACT, *PAY], neighbours=neighbours)
    assert PAY[0].key not in corpus.keys("auth.go y la cláusula 4.2")
    assert corpus.resolution.symbols == ()
    assert PAY[0].key in corpus.keys("`login`")


def test_flags() -> None:
    corpus = Corpus([*PAY, *AUTH])
    no_files, no_symbols = AnchorOptions(file_mentions=False), AnchorOptions(symbol_mentions=False)
    shown = [PAY[1]]
    assert corpus.anchors("auth.go::login", options=no_files) == [("src/auth/auth.go::login", [SYMBOL])]
    assert corpus.anchors("auth.go::login", options=no_symbols)[0] == ("src/auth/auth.go", [FILE])
    assert corpus.anchors("`charge`", shown, AnchorOptions(previous=False)) == [("src/pay/pay.go::charge", [SYMBOL])]
    nothing = AnchorOptions(file_mentions=False, symbol_mentions=False)
    assert corpus.anchors("auth.go::login", shown, nothing) == [("src/pay/pay.go::refund", [PREVIOUS])]
    assert wanted_names(mentions("auth.go::login"), options=nothing)[0] == []
    assert wanted_names(mentions("auth.go::login"), options=no_symbols)[1] == []


def test_names_that_a_key_tells() -> None:
    assert names_of(AUTH[2]) == {symbol_name("Session.Validate"), symbol_name("Validate")}
    assert names_of(entity("a.py::run (2)")) == {symbol_name("run")}
    assert clause_name("4") in names_of(CONTRACT[1])
    assert heading_name("Plazo de entrega") in names_of(CONTRACT[1])
    assert article_name("14 bis") in names_of(CONTRACT[4])
    assert heading_name("garantias") in names_of(CONTRACT[5])
    assert names_of(CONTRACT[0]) == frozenset()


def test_a_warning_holds_a_short_line() -> None:
    long = "nombre " * 20
    entities = [entity(f"{letter}.md#{letter}", EntityKind.SECTION, name=long) for letter in "ab"]
    corpus = Corpus(entities)
    assert corpus.keys(f"«{long.strip()}»") == ["a.md#a"]
    (warning,) = corpus.warnings
    assert warning.endswith("…` names 2 entities; the one in a.md is shown.")
    assert len(warning) < 150


def test_limits_of_neighbours_are_no_negative_numbers() -> None:
    with pytest.raises(ConfigurationError, match="called_by is below zero"):
        AnchorOptions(called_by=-1)


def test_a_plain_word_names_a_file_only_where_the_word_is_rare() -> None:
    keys = [item.key for item in AUTH]
    assert Corpus(AUTH, frequencies={"auth": 10}).keys("Fix the auth bug") == keys
    assert Corpus(AUTH, frequencies={"auth": 11}).keys("Fix the auth bug") == []
    assert Corpus(AUTH, frequencies={"auth": 11}, chunks=1100).keys("Fix the auth bug") == keys
    assert Corpus(AUTH, frequencies={"auth": 999}).keys("Fix the bug in auth.go") == keys


def test_of_two_the_one_that_is_written_just_so() -> None:
    animator = entity("lib/animation/animator.py::Animator", EntityKind.CLASS)
    prop = entity("app.py::App.animator", EntityKind.METHOD)
    corpus = Corpus([animator, prop])
    assert corpus.keys("¿Qué hace la clase Animator?") == [animator.key]
    assert corpus.keys("what does the method `animator` do") == [prop.key]
    assert corpus.warnings == []
    assert corpus.keys("what does `animator` do") == [prop.key]
    assert corpus.keys("what does `Animator` do") == [animator.key]
    assert corpus.warnings == ["`Animator` names 2 entities; the one in lib/animation/animator.py is shown."]


def test_what_stands_beside_what_is_meant_comes_along() -> None:
    found = Corpus(AUTH, inside={AUTH[1].key: (AUTH[2],)}).found("the class Session in auth.go")
    assert {item.entity.name: item.along for item in found} == {
        "Session": False,
        "Validate": True,
        "login": True,
        AUTH[0].name: True,
    }
    shown = Corpus(AUTH).found("more of it", previous=[AUTH[3]])
    assert [(item.entity.name, item.along) for item in shown] == [("login", False)]
