"""Mails: the fuller body, every text part, attachments as parts, and what could not be read."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from types import SimpleNamespace

import pytest

from ragcorp.domain.documents import UnreadKind
from support.parsing import samples
from support.parsing.kinds import parse, parts_of
from support.parsing.mails import mail

STUB = "Vea este mensaje en un navegador."


def test_the_html_body_where_the_plain_one_is_a_stub() -> None:
    message = mail()
    message.set_content(STUB)
    message.add_alternative("<p>El presupuesto asciende a 4.870 euros</p>", subtype="html")
    text = parse("a.eml", message.as_bytes()).text
    assert text.endswith("\n\nEl presupuesto asciende a 4.870 euros")
    assert STUB not in text


def test_the_plain_body_where_the_html_one_adds_little() -> None:
    message = mail()
    message.set_content("El presupuesto asciende\na 4.870 euros")
    message.add_alternative("<p>El presupuesto asciende a 4.870 euros</p><p>Darse de baja</p>", subtype="html")
    assert parse("a.eml", message.as_bytes()).text.endswith("asciende\na 4.870 euros")


def test_a_body_in_several_parts_and_an_inline_picture() -> None:
    message = mail()
    message.set_content("Primera parte")
    message.make_mixed()
    for maintype, content in (("image", b"png"), ("text", b"Segunda parte")):
        part = EmailMessage()
        part.set_content(content, maintype=maintype, subtype="png" if maintype == "image" else "plain")
        message.attach(part)
    parsed = parse("a.eml", message.as_bytes())
    assert parsed.text.endswith("\n\nPrimera parte\n\nSegunda parte")
    assert parts_of(parsed) == {(UnreadKind.IMAGE, 1, ())}


def test_attachments_are_parts() -> None:
    message = mail(text="Le adjunto el albarán.")
    word = samples.docx_file()
    message.add_attachment(word, maintype="application", subtype="octet-stream", filename="política.docx")
    message.add_attachment(b"franquicia", maintype="text", subtype="plain", filename="../c.txt")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf")
    message.add_attachment(b"\0\1\2" * 50, maintype="application", subtype="octet-stream", filename="foto.exe")
    parsed = parse("a.eml", message.as_bytes())
    assert parsed.text.endswith(
        "\nAttachments: política.docx, c.txt, attachment-3.pdf, foto.exe\n\nLe adjunto el albarán."
    )
    assert [(part.filename, part.content) for part in parsed.parts] == [
        ("política.docx", word),
        ("c.txt", b"franquicia"),
        ("attachment-3.pdf", b"%PDF"),
    ]
    assert parts_of(parsed) == {(UnreadKind.ATTACHMENT, 1, ("foto.exe",))}


def test_no_part_of_a_mail_is_lost_in_silence() -> None:
    message = mail()
    for number in range(1_005):
        message.add_attachment(b"x", maintype="text", subtype="plain", filename=f"{number}.txt")
    (left_out,) = parse("a.eml", message.as_bytes()).unread
    assert (left_out.count, left_out.places[-1]) == (5, "1004.txt")
    message = mail()
    for number in range(2_005):
        message.add_attachment(b"x", maintype="video", subtype="mp4", filename=f"{number}.mp4")
    (left_out,) = parse("a.eml", message.as_bytes()).unread
    assert left_out.count == 2_005


def test_forwarded_mails_and_digests() -> None:
    inner = mail("Original")
    inner.set_content("El muelle 4")
    inner.add_attachment(b"franquicia", maintype="text", subtype="plain", filename="c.txt")
    message = mail("RV: Original")
    message.set_content("Vea abajo")
    message.add_attachment(inner)
    parsed = parse("a.eml", message.as_bytes())
    assert parsed.text.endswith(
        "# Original.eml\n\nSubject: Original\nFrom: a@b.example\nAttachments: c.txt\n\nEl muelle 4"
    )
    assert [part.filename for part in parsed.parts] == ["c.txt"]


def test_attachments_within_an_alternative() -> None:
    message = mail()
    message.set_content("Hola")
    message.add_alternative("<p>Hola</p>", subtype="html")
    event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Reunión\nDTSTART:20260312T073000Z\nEND:VEVENT\nEND:VCALENDAR"
    message.add_alternative(event, subtype="calendar")
    (part,) = parse("a.eml", message.as_bytes()).parts
    assert part.filename == "attachment-1.ics"
    assert "## Reunión\n\nDtstart: 12/03/2026 07:30" in parse(part.filename, part.content).text


def test_links_lose_their_addresses() -> None:
    message = mail()
    message.set_content('<p>Vea <a href="https://t.example/x?utm_source=1">la tarifa</a></p>', subtype="html")
    assert parse("a.eml", message.as_bytes()).text.endswith("\n\nVea la tarifa")


def test_mails_within_mails_have_an_end() -> None:
    message = mail("0")
    message.set_content("fondo")
    for number in range(1, 30):
        outer = mail(str(number))
        outer.set_content("x")
        outer.add_attachment(message)
        message = outer
    parsed = parse("a.eml", message.as_bytes())
    assert "# 25.eml" in parsed.text
    assert [part.filename for part in parsed.parts] == ["24.eml"]


def test_a_mail_of_outlook(monkeypatch: pytest.MonkeyPatch) -> None:
    import oxmsg
    from oxmsg.domain import constants

    class Properties:
        body_encoding = "cp1252"

        def __init__(self, **values: object) -> None:
            self._values = {getattr(constants, name): value for name, value in values.items()}

        def value(self, number: int) -> object:
            return self._values.get(number)

        int_prop_value = str_prop_value = binary_prop_value = value

    def person(name: str, kind: int) -> SimpleNamespace:
        properties = Properties(PID_RECIPIENT_TYPE=kind)
        return SimpleNamespace(name=name, email_address=f"{name.lower()}@v.example", properties=properties)

    class Message:
        subject = "Pedido"
        sender = "Leocadia <l@v.example>"
        sent_date = None
        recipients = (person("Ana", 1), person("Luis", 2), person("Oculta", 3))
        body = "Vea este mensaje en un navegador."
        html_body = None
        properties = Properties(PID_HTML="<p>Recogida en el muelle 4, el día 12 de marzo</p>".encode("cp1252"))
        attachments = (
            SimpleNamespace(
                file_name=None,
                file_bytes=None,
                mime_type="application/octet-stream",
                properties=Properties(PID_DISPLAY_NAME="Oferta anterior"),
            ),
        )

        @classmethod
        def load(cls, _: object) -> Message:
            return cls()

    monkeypatch.setattr(oxmsg, "Message", Message)
    parsed = parse("a.msg", b"")
    assert parsed.text == (
        "Subject: Pedido\nFrom: Leocadia <l@v.example>\nTo: Ana <ana@v.example>\nCc: Luis <luis@v.example>\n"
        "Attachments: Oferta anterior\n\nRecogida en el muelle 4, el día 12 de marzo"
    )
    assert parsed.title == "Pedido"
    assert parts_of(parsed) == {(UnreadKind.ATTACHMENT, 1, ("Oferta anterior",))}


def test_all_html_bodies_of_an_alternative() -> None:
    """Apple Mail puts an attachment between two of them."""
    message = EmailMessage()
    message["Subject"] = "Factura"
    message.set_content(" ")
    message.add_alternative("<p>Adjunto la factura.</p>", subtype="html")
    (_, html) = message.iter_parts()
    html.make_mixed()
    html.add_attachment(b"a;b", maintype="text", subtype="csv", filename="a.csv")
    second = EmailMessage()
    second.set_content("<p>Importe: 99,00 euros.</p>", subtype="html")
    html.attach(second)
    text = parse("a.eml", message.as_bytes()).text
    assert text.endswith("Attachments: a.csv\n\nAdjunto la factura.\n\nImporte: 99,00 euros.")


def test_a_stub_as_long_as_its_html() -> None:
    message = EmailMessage()
    message.set_content("Su programa de correo no admite HTML. Abra este mensaje en un navegador para verlo bien.")
    message.add_alternative("<p>Importe de la factura F-102: 1.234,50 €. Vence el 15/04/2026.</p>", subtype="html")
    assert "1.234,50 €" in parse("a.eml", message.as_bytes()).text


def test_headers_in_bytes_of_windows() -> None:
    parsed = parse("a.eml", "Subject: Presupuesto año próximo\n\nHola".encode("cp1252"))
    assert parsed.title == "Presupuesto año próximo"


def test_a_forwarded_mail_in_base64() -> None:
    inner = base64.b64encode(b"Subject: Original\n\nEl importe es de 40 euros.").decode()
    head = "MIME-Version: 1.0\nSubject: RV\nContent-Type: multipart/mixed; boundary=x\n\n"
    part = "--x\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
    text = parse("a.eml", f"{head}--x\n\nHola\n{part}{inner}\n--x--\n".encode()).text
    assert text.endswith("# Original.eml\n\nSubject: Original\n\nEl importe es de 40 euros.")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_whole_mail_in_one_encoding(encoding: str) -> None:
    mail = "Subject: Año nuevo\n\nhola".encode(encoding)
    parsed = parse("a.eml", mail)
    assert (parsed.text, parsed.title) == ("Subject: Año nuevo\n\nhola", "Año nuevo")
