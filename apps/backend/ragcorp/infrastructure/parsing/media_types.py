"""The kinds of file that are taken, by file name suffix, or by a name that has none."""

import re
from pathlib import PurePosixPath

from ragcorp.domain.exceptions import UnsupportedMediaTypeError

MARKDOWN = "text/markdown"
PLAIN = "text/plain"
HTML = "text/html"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
CSV = "text/csv"
EML = "message/rfc822"
MSG = "application/vnd.ms-outlook"
TSV = "text/tab-separated-values"
RTF = "application/rtf"
ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"
EPUB = "application/epub+zip"
NOTEBOOK = "application/x-ipynb+json"
CALENDAR = "text/calendar"
CONTACTS = "text/vcard"
ZIP = "application/zip"
DOC = "application/msword"
XLS = "application/vnd.ms-excel"
PPT = "application/vnd.ms-powerpoint"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"
WEBP = "image/webp"
BMP = "image/bmp"

IMAGES = frozenset({PNG, JPEG, TIFF, WEBP, BMP})

CODE = frozenset((
    ".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".go", ".rs",
    ".java", ".kt", ".kts", ".scala", ".groovy", ".gradle", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx",
    ".cs", ".fs", ".vb", ".m", ".mm", ".swift", ".rb", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".dart", ".ex",
    ".exs", ".erl", ".hrl", ".hs", ".clj", ".cljs", ".elm", ".ml", ".mli", ".nim", ".zig", ".sol", ".asm", ".s",
    ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".sql", ".css", ".scss", ".sass", ".less", ".graphql",
    ".gql", ".proto", ".thrift", ".tf", ".hcl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties",
    ".json", ".jsonc", ".json5", ".jsonl", ".ndjson", ".xml", ".xsd", ".xsl", ".xslt", ".svg", ".cmake", ".mk",
    ".dockerfile", "dockerfile", "containerfile", "makefile", "gnumakefile", "justfile", "rakefile", "gemfile",
    "vagrantfile", "jenkinsfile",
))  # fmt: skip
"""Suffixes and whole names of source code and configuration: text whose lines are the file's own.

They are ``text/plain`` whatever they hold: the original of one is served as no markup, style or script, and it can be
edited as text.
"""

BY_SUFFIX = {
    **dict.fromkeys(sorted(CODE), PLAIN),
    **dict.fromkeys((".rst", ".adoc", ".asciidoc", ".tex", ".org", ".txt", ".text", ".log"), PLAIN),
    **dict.fromkeys((".md", ".markdown"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".xht"), HTML),
    ".pdf": PDF,
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), DOCX),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), XLSX),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), PPTX),
    **dict.fromkeys((".odt", ".ott"), ODT),
    **dict.fromkeys((".ods", ".ots"), ODS),
    **dict.fromkeys((".odp", ".otp"), ODP),
    ".csv": CSV,
    **dict.fromkeys((".tsv", ".tab"), TSV),
    ".eml": EML,
    ".msg": MSG,
    ".rtf": RTF,
    ".epub": EPUB,
    ".ipynb": NOTEBOOK,
    ".ics": CALENDAR,
    ".vcf": CONTACTS,
    ".zip": ZIP,
    ".doc": DOC,
    ".dot": DOC,
    ".xls": XLS,
    ".ppt": PPT,
    ".pps": PPT,
    ".png": PNG,
    **dict.fromkeys((".jpg", ".jpeg"), JPEG),
    **dict.fromkeys((".tif", ".tiff"), TIFF),
    ".webp": WEBP,
    ".bmp": BMP,
}

_ALIASES = {
    "text/x-markdown": MARKDOWN,
    "application/xhtml+xml": HTML,
    "application/x-pdf": PDF,
    "application/csv": CSV,
    "text/rtf": RTF,
    "text/x-vcard": CONTACTS,
    "application/x-zip-compressed": ZIP,
    **{media_type: media_type for media_type in BY_SUFFIX.values()},
}


_SUFFIXES = {media_type: suffix for suffix, media_type in reversed(BY_SUFFIX.items())} | {PLAIN: ".txt"}


def suffix_for(media_type: str) -> str:
    """Return the usual suffix of a media type, "" for another one."""
    return _SUFFIXES.get(_ALIASES.get(media_type, ""), "")


def suffix_of(filename: str) -> str:
    """Return the lower-case suffix, or the whole name without one."""
    path = PurePosixPath(filename.replace("\\", "/").lower())
    return path.suffix or path.name


def is_code(filename: str) -> bool:
    return suffix_of(filename) in CODE


def known_type(filename: str, declared: str | None) -> str | None:
    """Return the media type by name, else the declared one without its parameters, if it is known."""
    by_name = BY_SUFFIX.get(suffix_of(filename))
    return by_name or _ALIASES.get((declared or "").partition(";")[0].strip().lower())


def media_type_of(filename: str, declared: str | None) -> str:
    """Return the media type by name, else the declared one without its parameters if it is known."""
    media_type = known_type(filename, declared)
    if media_type:
        return media_type
    raise UnsupportedMediaTypeError(
        "No parser takes this kind of file.",
        field="filename",
        limit=" ".join(sorted(BY_SUFFIX)),
        remedy=f"Send one of: {', '.join(sorted(BY_SUFFIX))}.",
    )


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = b"PK\x03\x04"
_RICH = b"{\\rtf"
_BEGINNINGS = {
    **dict.fromkeys((DOC, XLS, PPT), _OLE),
    **dict.fromkeys((DOCX, XLSX, PPTX, ODT, ODS, ODP), _ZIP),
    RTF: _RICH,
}
_MODERN = {DOC: DOCX, XLS: XLSX, PPT: PPTX, RTF: DOCX}
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|meta|style|body|div|table)\b", re.IGNORECASE)
_CELLS = re.compile(rb"[^\0\n;\t]+[;\t][^\0]*\Z")
_LOOKED_AT = 4_096


def type_by_content(media_type: str, content: bytes) -> str:
    """Return the kind that the first bytes show, where the name of the file promises another one.

    Programs export web pages, tables as text and Rich Text under the names ``.xls`` and ``.doc``.
    """
    beginning = content[:_LOOKED_AT]
    expected = _BEGINNINGS.get(media_type)
    if expected is None or beginning.startswith(expected):
        return media_type
    if beginning.startswith(_ZIP):
        packed = beginning[30:]
        written = (kind for kind in (ODT, ODS, ODP, EPUB) if packed.startswith(f"mimetype{kind}".encode()))
        return next(written, _MODERN.get(media_type, media_type))
    if beginning.startswith(_RICH):
        return RTF
    if beginning.startswith(b"%PDF-"):
        return PDF
    if _MARKUP.match(beginning):
        return HTML
    if beginning.lower().startswith(b"mime-version:"):
        return EML
    if media_type == XLS and beginning.startswith(b"\xff\xfe"):
        return TSV
    if media_type == XLS and _CELLS.match(beginning):
        return TSV if b"\t" in beginning.partition(b"\n")[0] else CSV
    return media_type
