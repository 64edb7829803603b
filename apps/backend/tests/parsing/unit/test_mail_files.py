"""Mails: the fuller body, every text part, attachments as sections, and what could not be read."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from ragcorp.domain.documents import UnreadKind
from support.parsing import samples
from support.parsing.kinds import parse, parts_of

STUB = "Vea este mensaje en un navegador."


def mail(subject: str = "Pedido") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "a@b.example"
    return message


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


def test_attachments_are_sections() -> None:
    message = mail()
    message.set_content("Le adjunto el albarán.")
    message.add_attachment(
        samples.docx_file(), maintype="application", subtype="octet-stream", filename="política.docx"
    )
    message.add_attachment(
        "franquicia de 900 euros".encode("cp1252"), maintype="text", subtype="plain", filename="c.txt"
    )
    message.add_attachment(b"\0\1\2" * 50, maintype="application", subtype="octet-stream", filename="foto.exe")
    parsed = parse("a.eml", message.as_bytes())
    assert "Attachments: política.docx, c.txt, foto.exe\n\nLe adjunto el albarán.\n\n# política.docx\n\n" in parsed.text
    assert "| Técnico \\| jefe | 22 |" in parsed.text
    assert parsed.text.endswith("# c.txt\n\nfranquicia de 900 euros")
    assert parts_of(parsed) == {(UnreadKind.ATTACHMENT, 1, ("foto.exe",)), (UnreadKind.IMAGE, 1, ())}


def test_forwarded_mails_and_digests() -> None:
    inner = mail("Original")
    inner.set_content("El muelle 4")
    message = mail("RV: Original")
    message.set_content("Vea abajo")
    message.add_attachment(inner)
    text = parse("a.eml", message.as_bytes()).text
    assert "# Original.eml\n\nSubject: Original\nFrom: a@b.example\n\nEl muelle 4" in text


def test_attachments_within_an_alternative() -> None:
    message = mail()
    message.set_content("Hola")
    message.add_alternative("<p>Hola</p>", subtype="html")
    event = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Reunión\nDTSTART:20260312T073000Z\nEND:VEVENT\nEND:VCALENDAR"
    message.add_alternative(event, subtype="calendar")
    assert "## Reunión\n\nDtstart: 12/03/2026 07:30" in parse("a.eml", message.as_bytes()).text


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
    assert (UnreadKind.ATTACHMENT, 1, ("24.eml",)) in parts_of(parse("a.eml", message.as_bytes()))


def test_a_mail_of_outlook(monkeypatch: pytest.MonkeyPatch) -> None:
    import oxmsg

    class Message:
        subject = "Pedido"
        sender = "Leocadia <l@v.example>"
        sent_date = None
        recipients = ()
        body = "Muelle 4"
        html_body = None
        attachments = ()

        @classmethod
        def load(cls, _: object) -> Message:
            return cls()

    monkeypatch.setattr(oxmsg, "Message", Message)
    parsed = parse("a.msg", b"")
    assert parsed.text == "Subject: Pedido\nFrom: Leocadia <l@v.example>\n\nMuelle 4"
    assert parsed.title == "Pedido"
