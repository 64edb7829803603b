"""Mails: as files of the Internet standard and of Outlook."""

import base64
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.decoding import decode
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.reading import Parts, Reading, unread
from ragcorp.infrastructure.parsing.kinds.web import html_to_markdown

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_SIGNATURE = re.compile(r"\n-- ?(?=\n)")
_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?:https?|mailto):[^()\s]*\)")
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*\)")
_WORD = re.compile(r"\w+")
_MOST_PARTS = 2_000
_MOST_FORWARDED = 4
"""Mails within a mail within a mail that are part of its text; those further inside are parts."""
_RECIPIENTS = {1: "To", 2: "Cc"}
_NO_YEAR = 1601
"""What Outlook writes for a date that is not known."""


@dataclass(slots=True, kw_only=True)
class _Letter:
    """``forwarded``: sections with the text of the mails in it; ``parts``: its attachments, and theirs."""

    headers: Mapping[str, str]
    parts: Parts
    depth: int = 0
    body: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    forwarded: list[str] = field(default_factory=list)
    images: int = 0

    def attach(self, name: str, content: bytes, media_type: str) -> None:
        self.parts.add(name, content, media_type=media_type)
        self.attached.append(self.parts.names[-1])


def read_email(file: SourceFile, _: Reading) -> ParsedText:
    with shielded("mail"):
        in_utf_16 = b"\0" in file.content[:4]
        content = decode(file.content).encode() if in_utf_16 else file.content
        message = message_from_bytes(content, policy=policy.default)
        letter = _read(message, Parts(kind=UnreadKind.ATTACHMENT))
    return _parsed(letter)


def read_msg(file: SourceFile, _: Reading) -> ParsedText:
    with shielded("Outlook"):
        from oxmsg import Message
        from oxmsg.domain import constants

        message = Message.load(io.BytesIO(file.content))
        recipients: dict[str, list[str]] = {}
        for person in message.recipients:
            kind = _RECIPIENTS.get(person.properties.int_prop_value(constants.PID_RECIPIENT_TYPE) or 1, "Bcc")
            recipients.setdefault(kind, []).append(f"{person.name} <{person.email_address}>")
        date = message.sent_date
        headers = {
            "Subject": message.subject,
            "From": message.sender,
            **{kind: ", ".join(recipients.get(kind, ())) for kind in _RECIPIENTS.values()},
            "Date": date.isoformat() if date and date.year > _NO_YEAR else "",
        }
        letter = _Letter(
            headers={name: " ".join(value.split()) for name, value in headers.items() if value},
            parts=Parts(kind=UnreadKind.ATTACHMENT),
        )
        html = message.properties.binary_prop_value(constants.PID_HTML)
        rich = decode(html, declared=message.properties.body_encoding) if html else message.html_body or ""
        letter.body = [_fuller(message.body or "", rich)]
        if not letter.body[0].strip() and message.properties.binary_prop_value(constants.PID_RTF_COMPRESSED):
            letter.parts.left_out.append("body.rtf")
        for attachment in message.attachments:
            name = attachment.file_name or attachment.properties.str_prop_value(constants.PID_DISPLAY_NAME)
            letter.attach(name or "", attachment.file_bytes or b"", attachment.mime_type or "")
    return _parsed(letter)


def _read(message: MIMEPart, parts: Parts, depth: int = 0) -> _Letter:
    letter = _Letter(headers=_headers(message), parts=parts, depth=depth)
    for number, part in enumerate(_parts(message)):
        if number < _MOST_PARTS:
            _sort(part, letter)
        else:
            parts.left_out.append(parts.named(part.get_filename() or "", part.get_content_type()))
    return letter


def _headers(message: MIMEPart) -> dict[str, str]:
    return {name: value for name in _SHOWN if (value := _header(message, name))}


def _header(message: MIMEPart, name: str) -> str:
    """Return a header; bytes of another encoding than UTF-8, which no header may have, are decoded like a text."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    text = str(raw) if isinstance(raw, str) else ""
    if not text.isascii():
        return " ".join(decode(text.encode("ascii", "surrogateescape")).split())
    return " ".join(str(message[name] or "").split())


def _parts(message: MIMEPart, *, alternatives: bool = True) -> Iterator[MIMEPart]:
    """Yield the parts in order, none of those inside attached mails; ``alternatives`` as one part each."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        whole = alternatives and part.get_content_subtype() == "alternative"
        if part.is_multipart() and part.get_content_maintype() == "multipart" and not whole:
            waiting.extend(reversed([inner for inner in part.iter_parts() if isinstance(inner, MIMEPart)]))
        else:
            yield part


def _sort(part: MIMEPart, letter: _Letter) -> None:
    """Put a part where it belongs: into the body, or among the attachments."""
    kind = part.get_content_type()
    if kind == "multipart/alternative":
        bodies: dict[str, list[str]] = {"text/plain": [], "text/html": []}
        for leaf in _parts(part, alternatives=False):
            if leaf.get_content_type() in bodies and not leaf.is_attachment():
                bodies[leaf.get_content_type()].append(_content(leaf))
            else:
                _sort(leaf, letter)
        letter.body.append(_fuller(*map("\n\n".join, bodies.values())))
    elif kind in ("text/plain", "text/html") and not part.is_attachment():
        text = _content(part)
        letter.body.append(_from_html(text) if kind == "text/html" else text)
    elif part.get_content_maintype() == "image" and not part.is_attachment():
        letter.images += 1
    elif kind == "message/rfc822" and isinstance(held := part.get_payload(), list) and held:
        inner = held[0]
        encoding = str(part["Content-Transfer-Encoding"] or "").strip().lower()
        if encoding == "base64" and isinstance(inner, EmailMessage) and not inner.keys():
            inner = message_from_bytes(base64.b64decode(inner.as_bytes()), policy=policy.default)
        _forward(inner, part.get_filename(), letter)
    else:
        payload = part.get_payload(decode=True)
        letter.attach(part.get_filename() or "", payload if isinstance(payload, bytes) else b"", kind)


def _forward(message: object, filename: str | None, letter: _Letter) -> None:
    """Put the text of an attached mail into that of the mail, and its attachments among those of the mail."""
    if not isinstance(message, EmailMessage):
        return
    name = filename or f"{message['Subject'] or ''}.eml".replace("/", "-")
    if letter.depth >= _MOST_FORWARDED:
        letter.attach(name, message.as_bytes(), "message/rfc822")
        return
    inner = _read(message, letter.parts, letter.depth + 1)
    letter.attached.append(" ".join(name.split()))
    letter.forwarded.append(f"# {letter.attached[-1]}\n\n{_text(inner)}")
    letter.images += inner.images


def _fuller(plain: str, rich: str) -> str:
    """Return the plain body, or the HTML body where the plain one lacks most of its words: it is only a stub."""
    converted = _from_html(rich) if rich.strip() else ""
    plain_words, html_words = (frozenset(_WORD.findall(text.casefold())) for text in (plain, converted))
    lacking = html_words - plain_words
    return converted if 2 * len(lacking) > len(html_words) > len(plain_words) / 2 else plain


def _from_html(source: str) -> str:
    """Convert to Markdown without the addresses of links, which are mostly for tracking."""
    return _IMAGE.sub(r"\1", _LINK.sub(r"\1", html_to_markdown(source)[0]))


def _content(part: MIMEPart | None) -> str:
    payload = part.get_payload(decode=True) if part is not None else None
    return (
        decode(payload, declared=part.get_content_charset()) if part is not None and isinstance(payload, bytes) else ""
    )


def _text(letter: _Letter) -> str:
    """Return headers, one a line, the names of the attachments, the body, and a section for each forwarded mail."""
    lead = [f"{name}: {value}" for name, value in letter.headers.items()]
    lead += [f"Attachments: {', '.join(letter.attached)}"] if letter.attached else []
    body = "\n\n".join(filter(None, (text.replace("\r\n", "\n").strip("\n") for text in letter.body)))
    plain = _SIGNATURE.sub("\n\n--", body).strip()
    if not plain and not letter.attached:
        return ""
    return "\n\n".join(["\n".join(lead), plain, *letter.forwarded]).strip()


def _parsed(letter: _Letter) -> ParsedText:
    """Return the text, titled by the subject, and the attachments."""
    return ParsedText(
        text=_text(letter),
        title=letter.headers.get("Subject"),
        unread=letter.parts.unread + unread(UnreadKind.IMAGE, count=letter.images),
        parts=tuple(letter.parts.files),
    )
