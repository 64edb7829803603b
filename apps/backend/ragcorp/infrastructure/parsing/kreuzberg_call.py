"""The one call of kreuzberg. Also a program: the file on standard input, JSON on standard output.

It imports nothing of ragcorp, so that the program starts from its path alone.
"""

import json
import sys
from dataclasses import asdict, dataclass

TIMEOUT_SECONDS = 300


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


def call(data: bytes, request: Request) -> Extracted:
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
            extraction_timeout_secs=TIMEOUT_SECONDS,
        ),
    )
    title = result.metadata.get("title")
    return Extracted(
        text=result.content,
        pages=[page["content"] for page in result.pages or ()],
        title=title if isinstance(title, str) else None,
    )


def main() -> None:
    """Answer ``{"done": ...}`` or ``{"failed": message}``; a crash leaves no answer."""
    request = Request(**json.loads(sys.argv[1]))
    answer: dict[str, object]
    try:
        answer = {"done": asdict(call(sys.stdin.buffer.read(), request))}
    except BaseException as error:  # noqa: BLE001  (a panic of Rust code is no Exception)
        answer = {"failed": f"{type(error).__name__}: {error}"}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
