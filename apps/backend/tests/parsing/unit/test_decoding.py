"""Encodings: marked, declared and guessed."""

from __future__ import annotations

import pytest

from ragcorp.domain.documents import SourceFile
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing.decoding import clean, decode, decode_with_name, text_of

SPANISH = "Año 2026: la cigüeña de Logroño costó 3 € — ¿«sí» o “no”?"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_spanish(encoding: str) -> None:
    assert decode(SPANISH.encode(encoding)) == SPANISH


def test_latin_1() -> None:
    assert decode("El camión azul pasó por la señal".encode("latin-1")) == "El camión azul pasó por la señal"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("El niño compró piñones en Logroño, mañana será otro año.", "cp850"),
        ("El niño compró piñones en Logroño, mañana será otro año.", "mac_roman"),
        ("El año", "cp850"),
        ("El año", "mac_roman"),
        ("L\u2019àvia va dir que això és únic", "mac_roman"),
        ("AÑO: LOGROÑO. ESPAÑA, MÁS ACCIÓN", "cp850"),
        ("“Hola” – dijo él… 5 €", "cp1252"),
        ("AÑO 2026 ESPAÑA COMPAÑÍA", "cp850"),
        ("MAÑANA ÁÉÍ", "mac_roman"),
        ("Ampliación del órgano: él caminó más, según el país y el compañero", "mac_roman"),
        ("¿Cuántas personas murieron en París?", "mac_roman"),
        ("Registro único, que se someterá al comité", "cp850"),
        ("Cambia la ñ por la n: cañ", "cp1252"),
        ("Acta Ñ (firmada), ‘sí’, 0,037·D", "cp1252"),
        ("L\u2019aigua, don\u2019t, lunes–viernes", "cp1252"),
        ("L\u2019aigua i l\u2019oli d\u2019oliva", "cp1252"),
        ("We don\u2019t know it\u2019s late—or early", "cp1252"),
        ("Horario de lunes–viernes de 9 a 14 h", "cp1252"),
        ("intel·ligent, col·legi", "cp1252"),
        ("Aujourd\u2019hui l\u2019école d\u2019été, c\u2019est le cœur", "cp1252"),
        ("O\u2019Donnell, L\u2019Hospitalet", "cp1252"),
        ("El siglo XX–XXI, «así», dijo el Nº 5, 1.ª planta, ‘sí’, a 20\u00a0°C, ½, 5\u00a0€…", "cp1252"),
        ("Factura: 100 €\nIVA: 21 €\n", "iso8859-15"),
        ("<p>Total 100 € ñ</p>", "iso8859-15"),
        ("Señor alcalde: son 1.200 € más IVA, según contrato. Año 2026.", "iso8859-15"),
        ("L\u2019aigua d\u2019or és bona — va dir ell— “però” no", "cp1252"),
    ],
)
def test_old_encodings(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Договор вступает в силу с момента подписания и действует до полного исполнения обязательств.", "cp1251"),
        ("Η σύμβαση αρχίζει να ισχύει από την υπογραφή της και λήγει με την πλήρη εκτέλεση.", "cp1253"),
        ("本合同自签字之日起生效，至全部义务履行完毕之日止。", "gb18030"),
        ("<p class='text of a page'>Договор вступает в силу с момента подписания</p>" * 9, "cp1251"),
    ],
)
def test_other_alphabets_are_detected(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_the_declared_charset_counts_where_the_bytes_are_not_utf_8() -> None:
    assert decode("Ελλάδα".encode("iso8859-7"), declared="ISO-8859-7") == "Ελλάδα"
    assert decode("año".encode(), declared="iso-8859-1") == "año"
    assert decode("50 €".encode("cp1252"), declared="ISO-8859-1") == "50 €"
    assert decode(b"a\xf1o", declared="idna") == "año"
    assert decode(b"a\xf1o", declared="no-existe") == "año"


def test_a_stray_nul_is_no_binary_file() -> None:
    assert clean(decode("uno\0dós".encode())) == "uno dós"
    with pytest.raises(UnreadableDocumentError):
        decode(bytes(range(256)) * 4)


def test_clean() -> None:
    assert clean("a\r\nb\rc\x0cd\x0be\tf") == "a\nb\nc d e\tf"
    assert clean("an\u0303o con\u00adtra\u200bto \x1b[0m\x7f") == "año contrato [0m"


# strictly, with the name of the encoding


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
        ("cp1252", "cp1252"),
    ],
)
def test_the_encoding_is_named(written: str, name: str) -> None:
    assert decode_with_name(SPANISH.encode(written)) == (SPANISH, name)


def test_a_detected_encoding_is_named() -> None:
    russian = "Договор вступает в силу с момента подписания и действует до полного исполнения обязательств."
    assert decode_with_name(russian.encode("cp1251")) == (russian, "cp1251")


def test_the_text_is_not_cleaned() -> None:
    assert decode_with_name("an\u0303o\u00ad\r\n\x1b[0m\x0c".encode()).text == "an\u0303o\u00ad\r\n\x1b[0m\x0c"
    assert decode_with_name(b"") == ("", "utf-8")


@pytest.mark.parametrize(
    "data",
    [b"uno\0dos", "uno\0dos".encode("utf-16"), bytes(range(1, 256)) * 4, bytes(range(1, 128)) * 4],
    ids=["zero", "zero in UTF-16", "all bytes but zero", "ASCII with controls"],
)
def test_what_is_binary(data: bytes) -> None:
    with pytest.raises(UnreadableDocumentError):
        decode_with_name(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfa\xf1o",
        b"\xff\xfea\0b",
        b"\xfe\xff\xd8\x00\x00a",
        b"\xff\xfe\0\0\xff\xff\xff\xff",
        "ñandú".encode() + b"\x81\x8d\x8f\x90\x9d" * 9,
    ],
)
def test_what_is_text_in_no_encoding(data: bytes) -> None:
    with pytest.raises(UnicodeError):
        decode_with_name(data)


def test_a_few_damaged_bytes_do_not_make_utf_8_another_encoding() -> None:
    log = "La cigüeña voló. " * 20
    assert decode_with_name(log.encode() + b"\xc3") == (log + "\ufffd", "utf-8")
    assert decode_with_name(b"a\xf1o y \xf3rgano").text == "año y órgano"


def test_text_that_was_sent_as_text_is_not_decoded() -> None:
    text = "\ufeffaÃ±o"
    assert text_of(SourceFile.of_text(text, media_type="text/plain")) == text
    assert text_of(SourceFile(content="año".encode("cp1252"), media_type="text/plain", filename="")) == "año"
    with pytest.raises(UnreadableDocumentError):
        text_of(SourceFile.of_text("\x01" * 20, media_type="text/plain"))
