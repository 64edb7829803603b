"""Mail: the headers that matter, the body and the names of the attachments, with the standard library."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from email.message import MIMEPart

from ragcorp.domain.documents import ParsedText
from ragcorp.infrastructure.parsing.converters import html_to_markdown
from ragcorp.infrastructure.parsing.decoding import decode
from ragcorp.infrastructure.parsing.extraction import shielded

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_SIGNATURE = re.compile(r"\n-- ?(?=\n)")


def read_email(data: bytes, _: int) -> ParsedText:
    """Return headers, one a line, then the plain body, else the HTML one as Markdown. The title is the subject."""
    with shielded("mail"):
        message = message_from_bytes(data, policy=policy.default)
        headers = {name: " ".join(str(message[name]).split()) for name in _SHOWN if message[name]}
        names = [part.get_filename() for part in message.iter_attachments()] if message.is_multipart() else []
        body = message.get_body(preferencelist=("plain", "html"))
        text = _content(body) if body is not None else ""
        if body is not None and body.get_content_type() == "text/html":
            text = html_to_markdown(text)[0]
    attached = ", ".join(name for name in names if name)
    lead = [f"{name}: {value}" for name, value in headers.items()] + ([f"Attachments: {attached}"] if attached else [])
    plain = _SIGNATURE.sub("\n\n--", text.replace("\r\n", "\n")).strip()
    if not plain and not attached:
        lead = []
    return ParsedText(text="\n".join(lead) + "\n\n" + plain, title=headers.get("Subject"))


def _content(part: MIMEPart) -> str:
    payload = part.get_payload(decode=True)
    return decode(payload, declared=part.get_content_charset()) if isinstance(payload, bytes) else ""
