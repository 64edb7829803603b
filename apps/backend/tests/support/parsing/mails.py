"""Mails with files attached."""

from __future__ import annotations

from collections.abc import Mapping
from email.message import EmailMessage


def mail(subject: str = "Pedido", text: str = "Le adjunto el albarán.") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "a@b.example"
    if text:
        message.set_content(text)
    return message


def mail_with(files: Mapping[str, bytes], *, subject: str = "Pedido", text: str = "Le adjunto el albarán.") -> bytes:
    message = mail(subject, text)
    if not text:
        message.make_mixed()
    for name, content in files.items():
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()
