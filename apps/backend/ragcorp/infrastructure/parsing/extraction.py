"""The shield between the parsing libraries and us."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ragcorp.domain.exceptions import MissingExtraError, RagcorpError
from ragcorp.infrastructure.parsing.limits import corrupt, encrypted

EXTRA = "parsers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    media_type: str
    markdown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text, and the title in the file's own properties."""

    text: str
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
        raise (encrypted(kind) if "password" in str(error).lower() else corrupt(kind)) from error


def extract(data: bytes, request: Request, kind: str) -> Extracted:
    """Return what kreuzberg reads."""
    with shielded(kind):
        from kreuzberg import ExtractionConfig, extract_bytes_sync

        result = extract_bytes_sync(
            data,
            request.media_type,
            config=ExtractionConfig(
                output_format="markdown" if request.markdown else "plain",
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
        return Extracted(text=result.content, title=title if isinstance(title, str) else None)
