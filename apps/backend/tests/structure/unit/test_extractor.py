"""Which reader a document has, what the fingerprint names, and a language by one line more."""

from __future__ import annotations

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.structure.entities import MAX_ENTITIES, EntityKind
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.languages import LANGUAGES, CodeLanguage, Grammars
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer

TOKENIZER = SplintrTokenizer()
EXTRACTOR = TreeSitterExtractor(tokenizer=TOKENIZER)


def test_the_fingerprint_names_algorithm_tokenizer_and_grammars() -> None:
    assert EXTRACTOR.fingerprint == "structure-3:o200k_base:go,javascript,python,typescript"
    result = EXTRACTOR.extract(ParsedText(text="x"), path="a.md")
    assert (result.fingerprint, result.path) == (EXTRACTOR.fingerprint, "a.md")


def test_one_line_more_is_one_language_more() -> None:
    row = CodeLanguage(name="go", suffixes=(".golang",))
    extractor = TreeSitterExtractor(tokenizer=TOKENIZER, languages=(*LANGUAGES, row))
    text = "package a\n\n// Starts.\nfunc Start() { listen() }\n\nfunc (s *S) Stop() {}\n\ntype S struct{}\n"
    results = extractor.extract(ParsedText(text=text, plain=True), path="x/a.golang").entities
    assert [(entity.key, entity.kind.value, entity.calls) for entity in results] == [
        ("x/a.golang", "file", ()),
        ("x/a.golang::Start", "function", ("symbol:listen",)),
        ("x/a.golang::Stop", "function", ()),
        ("x/a.golang::S", "class", ()),
    ]
    assert results[1].content == "// Starts.\nfunc Start() { listen() }"


def test_a_grammar_that_is_not_installed_leaves_the_file() -> None:
    row = CodeLanguage(name="nowhere", suffixes=(".now",))
    extractor = TreeSitterExtractor(tokenizer=TOKENIZER, languages=(row,))
    assert extractor.fingerprint == "structure-3:o200k_base:"
    (result,) = extractor.extract(ParsedText(text="def a(): pass\n", plain=True), path="a.now").entities
    assert (result.key, result.kind, result.language) == ("a.now", EntityKind.FILE, "nowhere")


def test_a_grammar_of_another_version_leaves_the_file() -> None:
    row = CodeLanguage(name="python", suffixes=(".py",), query="go")
    extractor = TreeSitterExtractor(tokenizer=TOKENIZER, languages=(row,))
    assert extractor.fingerprint == "structure-3:o200k_base:"
    (result,) = extractor.extract(ParsedText(text="def a(): pass\n"), path="a.py").entities
    assert (result.key, result.kind) == ("a.py", EntityKind.FILE)


def test_queries_are_compiled_once_for_the_process() -> None:
    for language in LANGUAGES:
        assert Grammars().grammar(language) is Grammars().grammar(language) is not None


def test_configuration_is_one_entity() -> None:
    text = "# no heading\nfactura: FAC-2024-0113\n"
    (result,) = EXTRACTOR.extract(ParsedText(text=text, plain=True), path="a.yaml").entities
    assert (result.key, result.kind, result.content) == ("a.yaml", EntityKind.FILE, text.rstrip())
    assert (result.language, result.index_text) == ("", None)


def test_other_texts_are_shared_out_by_their_headings() -> None:
    text = "Preámbulo.\n\n# Plazo\n\nTreinta días.\n\n## Entrega\n\nEn Logroño.\n"
    results = EXTRACTOR.extract(ParsedText(text=text), path="docs/c.md").entities
    assert [(e.key, e.kind.value, e.container, e.content, e.line_start, e.line_end) for e in results] == [
        ("docs/c.md", "file", None, "Preámbulo.", 1, 2),
        ("docs/c.md#Plazo", "section", None, "# Plazo\n\nTreinta días.", 3, 9),
        ("docs/c.md#Entrega", "section", "docs/c.md#Plazo", "## Entrega\n\nEn Logroño.", 7, 9),
    ]
    assert all(
        entity.index_text is None and entity.token_count == TOKENIZER.count(entity.content) for entity in results
    )


def test_symbols_are_embedded_and_what_stands_outside_them_where_it_says_something() -> None:
    results = EXTRACTOR.extract(ParsedText(text="import os\ndef a(): pass\n"), path="a.py").entities
    assert [entity.index_text for entity in results] == [None, "a.py a\ndef a(): pass"]
    table = "RETRIES = {'login': 3, 'pay': 5}"
    (file, _) = EXTRACTOR.extract(ParsedText(text=f"{table}\ndef a(): pass\n"), path="a.py").entities
    assert file.index_text == f"a.py\n{table}"


def test_a_long_section_is_cut_at_a_line_for_its_head() -> None:
    text = "# Plazo\n\n" + "Un día de plazo para la entrega.\n" * 100
    (result,) = EXTRACTOR.extract(ParsedText(text=text), path="a.md").entities
    assert result.head_tokens <= 128
    assert result.head.startswith("# Plazo\n\nUn día")
    assert result.head.endswith("entrega.")


def test_a_blank_text_has_no_entities_and_any_other_has_one() -> None:
    assert EXTRACTOR.extract(ParsedText(text=" \n\u200b"), path="a.py").entities == ()
    for path in ("a.py", "a.md", "a.txt", "", "a.yaml"):
        (result,) = EXTRACTOR.extract(ParsedText(text="hola\n"), path=path).entities
        assert (result.key, result.content) == (path or "document", "hola")


def test_keys_of_a_long_path_are_unique() -> None:
    path = "漢" * 900 + ".py"
    results = EXTRACTOR.extract(ParsedText(text="x = 1\ndef a(): pass\ndef b(): pass\n"), path=path).entities
    assert len({entity.key for entity in results}) == 3


def test_what_cannot_be_stored_is_replaced() -> None:
    text = "def a():\n    return '\x00\ud800'\n"
    (result,) = EXTRACTOR.extract(ParsedText(text=text), path="a.py").entities
    assert result.content == "def a():\n    return '\ufffd\ufffd'"


def test_carriage_returns_end_lines_where_there_are_no_others() -> None:
    text = "Preámbulo.\r\r# Plazo\r\rTreinta días.\r\rCódigo: FAC-2024-0113\r"
    results = EXTRACTOR.extract(ParsedText(text=text), path="a.md").entities
    assert [(e.key, e.line_start, e.line_end) for e in results] == [
        ("a.md", 1, 2), ("a.md#Plazo", 3, 7), ("a.md#FAC-2024-0113", 7, 7),
    ]  # fmt: skip
    code = EXTRACTOR.extract(ParsedText(text="import os\rdef a(): pass\r", plain=True), path="a.py").entities
    assert [(e.key, e.content, e.line_start) for e in code] == [
        ("a.py", "import os", 1),
        ("a.py::a", "def a(): pass", 2),
    ]


def test_the_entities_of_a_document_are_bounded() -> None:
    text = "\n\n".join(f"# Parte {number}\n\nTexto." for number in range(MAX_ENTITIES + 5))
    results = EXTRACTOR.extract(ParsedText(text=text), path="a.md").entities
    assert len(results) == MAX_ENTITIES
    assert results[-1].name == f"Parte {MAX_ENTITIES - 1}"
