"""Mails: as files of the Internet standard and of Outlook."""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing.decoding import decode
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.reading import Reading, read_members, unread
from ragcorp.infrastructure.parsing.kinds.web import html_to_markdown

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_SIGNATURE = re.compile(r"\n-- ?(?=\n)")
_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?:https?|mailto):[^()\s]*\)")
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\([^()\s]*\)")
_WORD = re.compile(r"\w+")
_MOST_PARTS = 2_000
_NO_YEAR = 1601
"""What Outlook writes for a date that is not known."""


@dataclass(slots=True, kw_only=True)
class _Letter:
    headers: Mapping[str, str]
    body: list[str] = field(default_factory=list)
    attachments: list[SourceFile] = field(default_factory=list)
    images: int = 0


def read_email(file: SourceFile, reading: Reading) -> ParsedText:
    with shielded("mail"):
        message = message_from_bytes(file.content, policy=policy.default)
        letter = _Letter(headers=_headers(message))
        for number, part in enumerate(_parts(message)):
            if number >= _MOST_PARTS:
                break
            _sort(part, letter)
    return _written(letter, reading)


def read_msg(file: SourceFile, reading: Reading) -> ParsedText:
    with shielded("Outlook"):
        from oxmsg import Message

        message = Message.load(io.BytesIO(file.content))
        headers = {
            "Subject": message.subject,
            "From": message.sender,
            "To": ", ".join(f"{each.name} <{each.email_address}>" for each in message.recipients),
            "Date": message.sent_date.isoformat() if message.sent_date and message.sent_date.year > _NO_YEAR else "",
        }
        letter = _Letter(headers={name: " ".join(value.split()) for name, value in headers.items() if value})
        letter.body = [_fuller(message.body or "", message.html_body or "")]
        for attachment in message.attachments:
            content = attachment.file_bytes or b""
            name = attachment.file_name or ""
            letter.attachments.append(SourceFile(content=content, media_type=attachment.mime_type or "", filename=name))
    return _written(letter, reading)


def _headers(message: MIMEPart) -> dict[str, str]:
    return {name: " ".join(str(message[name]).split()) for name in _SHOWN if message[name]}


def _parts(message: MIMEPart) -> Iterator[MIMEPart]:
    """Yield the parts in order, and of alternatives the container, not those inside attached mails."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if (
            part.is_multipart()
            and part.get_content_maintype() == "multipart"
            and part.get_content_subtype() != "alternative"
        ):
            waiting.extend(reversed([each for each in part.iter_parts() if isinstance(each, MIMEPart)]))
        else:
            yield part


def _sort(part: MIMEPart, letter: _Letter) -> None:
    """Put a part where it belongs: into the body, or among the attachments."""
    kind = part.get_content_type()
    if kind == "multipart/alternative":
        plain, rich = part.get_body(preferencelist=("plain",)), part.get_body(preferencelist=("html",))
        letter.body.append(_fuller(_content(plain), _content(rich)))
        for inner in part.iter_parts():
            for leaf in _parts(inner) if isinstance(inner, MIMEPart) else ():
                if leaf.get_content_type() not in ("text/plain", "text/html", "multipart/alternative"):
                    _sort(leaf, letter)
    elif kind in ("text/plain", "text/html") and not part.is_attachment():
        text = _content(part)
        letter.body.append(_from_html(text) if kind == "text/html" else text)
    elif part.get_content_maintype() == "image" and not part.is_attachment():
        letter.images += 1
    else:
        held = part.get_payload()
        attached = held[0] if isinstance(held, list) and held and kind == "message/rfc822" else None
        payload = attached.as_bytes() if isinstance(attached, EmailMessage) else part.get_payload(decode=True)
        subject = str(attached["Subject"] or "") if isinstance(attached, EmailMessage) else ""
        name = " ".join((part.get_filename() or (f"{subject}.eml" if attached is not None else "")).split())
        content = payload if isinstance(payload, bytes) else b""
        letter.attachments.append(SourceFile(content=content, media_type=kind, filename=name))


def _fuller(plain: str, rich: str) -> str:
    """Return the plain body, unless the HTML one has more words that it lacks than it has: it is a stub."""
    converted = _from_html(rich) if rich.strip() else ""
    said, meant = (frozenset(_WORD.findall(text.casefold())) for text in (plain, converted))
    return converted if len(meant - said) > len(said) else plain


def _from_html(source: str) -> str:
    """Return Markdown whose links have lost their addresses: those of mails mostly count who reads them."""
    return _IMAGE.sub(r"\1", _LINK.sub(r"\1", html_to_markdown(source)[0]))


def _content(part: MIMEPart | None) -> str:
    payload = part.get_payload(decode=True) if part is not None else None
    return (
        decode(payload, declared=part.get_content_charset()) if part is not None and isinstance(payload, bytes) else ""
    )


def _written(letter: _Letter, reading: Reading) -> ParsedText:
    """Return headers, one a line, the body, and a section for each attachment. The title is the subject."""
    attached = ", ".join(file.filename for file in letter.attachments if file.filename)
    lead = [f"{name}: {value}" for name, value in letter.headers.items()]
    lead += [f"Attachments: {attached}"] if attached else []
    body = "\n\n".join(filter(None, (text.replace("\r\n", "\n").strip("\n") for text in letter.body)))
    plain = _SIGNATURE.sub("\n\n--", body).strip()
    sections, left_out = read_members(letter.attachments, reading, UnreadKind.ATTACHMENT)
    if not plain and not attached and not sections:
        lead = []
    return ParsedText(
        text="\n\n".join(["\n".join(lead), plain, *sections]),
        title=letter.headers.get("Subject"),
        unread=left_out + unread(UnreadKind.IMAGE, count=letter.images),
    )
