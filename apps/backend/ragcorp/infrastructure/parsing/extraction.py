"""The shield between the parsing libraries and us."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ragcorp.domain.exceptions import MissingExtraError, RagcorpError, UnreadableDocumentError
from ragcorp.infrastructure.parsing.limits import corrupt, encrypted

EXTRA = "parsers"


class PanickedError(UnreadableDocumentError):
    """A panic in native code, after which the process reads no other PDF: it poisons PDFium's lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """``properties``: read the file's own (title)."""

    media_type: str
    markdown: bool = True
    properties: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text, that of each page where the format has pages, and the title in the file's own properties."""

    text: str
    pages: list[str]
    title: str | None


@contextmanager
def shielded(kind: str) -> Iterator[None]:
    """Turn whatever a parsing library raises, panics of Rust code included, into UnreadableDocumentError."""
    try:
        yield
    except (RagcorpError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except ImportError as error:
        raise MissingExtraError(feature=f"Reading {kind} files", extra=EXTRA) from error
    except BaseException as error:  # a panic is no Exception
        message = str(error).lower()
        if "panic" in f"{type(error).__name__} {message}".lower() or "poisoned" in message:
            raise corrupt(kind, PanickedError) from error
        raise (encrypted(kind) if "password" in message else corrupt(kind)) from error


def unpack_pdfium() -> None:
    """Let kreuzberg write its PDFium to the temporary folder, which it does once, and a confined child may not."""
    with suppress(MissingExtraError, UnreadableDocumentError):
        extract(b"%PDF-1.4", Request(media_type="application/pdf", properties=False), "PDF")


def extract(data: bytes, request: Request, kind: str) -> Extracted:
    """Return what kreuzberg reads."""
    with shielded(kind):
        from kreuzberg import ExtractionConfig, PageConfig, PdfConfig, extract_bytes_sync

        result = extract_bytes_sync(
            data,
            request.media_type,
            config=ExtractionConfig(
                output_format="markdown" if request.markdown else "plain",
                pages=PageConfig(extract_pages=True),
                pdf_options=PdfConfig(extract_metadata=request.properties),
                html_options={
                    "preprocessing": {
                        "enabled": True,
                        "preset": "standard",
                        "remove_navigation": True,
                        "remove_forms": False,
                    }
                },
                use_cache=False,
                enable_quality_processing=False,
            ),
        )
        title = result.metadata.get("title")
        return Extracted(text=result.content, pages=_pages(result), title=title if isinstance(title, str) else None)


def _pages(result: Any) -> list[str]:
    """Return the text of each page; where kreuzberg gives none, its part of the whole."""
    pages = [str(page["content"]) for page in result.pages or ()]
    spans = (result.metadata.get("pages") or {}).get("boundaries") or ()
    if len(spans) == len(pages) and not all(map(str.strip, pages)):
        whole = result.content.encode()
        for number, span in enumerate(spans):
            if not pages[number].strip():
                pages[number] = whole[span["byte_start"] : span["byte_end"]].decode(errors="replace")
    return pages
