"""Names in URLs and headers: external ids in paths, file names in Content-Disposition."""

import re
import unicodedata
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from ragcorp.domain.exceptions import InvalidInputError

MAX_FILENAME = 200
MAX_SUFFIX = 16
_UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_NOT_ASCII_TOKEN = re.compile(r"[^A-Za-z0-9 ._()+,=@-]")


def external_id_of(raw_path: str, *, field: str = "external_id") -> str:
    """Percent-decode a raw path. Raises InvalidInputError unless it is UTF-8."""
    try:
        return unquote_to_bytes(raw_path.encode("latin-1")).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError(
            "The name in the path is not valid UTF-8.", field=field, remedy="Percent-encode it as UTF-8."
        ) from None


def base_name(path: str) -> str:
    """Return the last part of a POSIX or Windows path as a file name that can be stored and shown."""
    name = _UNFIT.sub("", unicodedata.normalize("NFC", path.replace("\\", "/").rstrip("/").rpartition("/")[2])).strip()
    stem, dot, suffix = name.rpartition(".")
    if len(name) > MAX_FILENAME and dot and len(suffix) <= MAX_SUFFIX:
        return f"{stem[: MAX_FILENAME - len(suffix) - 1]}.{suffix}"
    return name[:MAX_FILENAME]


def filename_in(content_disposition: str) -> str:
    """Return the file name of a Content-Disposition header (RFC 6266), or ''."""
    message = Message()
    message["Content-Disposition"] = content_disposition
    parameters: list[tuple[str, Any]] = message.get_params([], "Content-Disposition")
    names = [value for name, value in parameters if name == "filename"]
    # filename* arrives as (charset, language, text) and takes precedence
    best = next((name for name in names if isinstance(name, tuple)), names[0] if names else "")
    return base_name(collapse_rfc2231_value(best))


def disposition(filename: str, *, inline: bool) -> str:
    """Return a Content-Disposition header: ASCII ``filename`` for old clients, the name in ``filename*`` (RFC 6266)."""
    ascii_name = _NOT_ASCII_TOKEN.sub("_", unicodedata.normalize("NFKD", filename).encode("ascii", "ignore").decode())
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{ascii_name or 'document'}\"; filename*=UTF-8''{quote(filename, safe='')}"
