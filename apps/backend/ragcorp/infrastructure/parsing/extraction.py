"""The shield between the parsing libraries and us."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ragcorp.domain.exceptions import MissingExtraError, RagcorpError, UnreadableDocumentError
from ragcorp.infrastructure.parsing.limits import corrupt, encrypted

EXTRA = "parsers"


class PanickedError(UnreadableDocumentError):
    """A panic in native code, after which the process reads no other PDF: it poisons PDFium's lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """``page_marker``, with ``{page_num}``, precedes each page; ``properties`` are the file's own (title)."""

    media_type: str
    markdown: bool = True
    page_marker: str = ""
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


def extract(data: bytes, request: Request, kind: str) -> Extracted:
    """Return what kreuzberg reads."""
    with shielded(kind):
        from kreuzberg import ExtractionConfig, PageConfig, PdfConfig, extract_bytes_sync

        result = extract_bytes_sync(
            data,
            request.media_type,
            config=ExtractionConfig(
                output_format="markdown" if request.markdown else "plain",
                pages=PageConfig(
                    extract_pages=True,
                    insert_page_markers=bool(request.page_marker),
                    marker_format=f"\n\n{request.page_marker}\n\n",
                ),
                pdf_options=PdfConfig(extract_metadata=request.properties),
                use_cache=False,
                enable_quality_processing=False,
            ),
        )
        title = result.metadata.get("title")
        return Extracted(
            text=result.content,
            pages=[page["content"] for page in result.pages or ()],
            title=title if isinstance(title, str) else None,
        )
