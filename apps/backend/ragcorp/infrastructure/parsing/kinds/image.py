"""Images: scanned or photographed pages."""

import io

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.domain.exceptions import UnreadableDocumentError
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import clean
from ragcorp.infrastructure.parsing.extraction import shielded
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread
from ragcorp.infrastructure.parsing.kinds.scans import MAX_SCANNED, name_of, not_recognized, with_recognized
from ragcorp.infrastructure.parsing.page_text import join_pages


def read_image(file: SourceFile, reading: Reading) -> ParsedText:
    """Return the recognised text of its pages, of which a TIFF may have several; until then, its name."""
    if not (reading.recognizes or reading.recognized):
        raise not_recognized("The file is an image")
    scanned = tuple(range(1, _pages(file) + 1))
    pages, confidences = with_recognized([""] * len(scanned), scanned, reading.recognized)
    text, starts = join_pages([clean(page) for page in pages])
    return ParsedText(
        text=text or name_of(file),
        page_starts=starts,
        scanned=scanned[:MAX_SCANNED],
        recognized=confidences,
        unread=unread(UnreadKind.PAGE, *(str(page) for page in scanned if page not in confidences)),
    )


def _pages(file: SourceFile) -> int:
    with shielded("image"):
        from PIL import Image

        try:
            with Image.open(io.BytesIO(file.content)) as image:
                if file.media_type == media_types.TIFF:
                    return int(getattr(image, "n_frames", 1))
                image.verify()
                return 1
        except Image.DecompressionBombError as error:
            limit = f"{2 * (Image.MAX_IMAGE_PIXELS or 0) // 1_000_000} million pixels"
            raise UnreadableDocumentError(
                f"The image has more than {limit}.",
                field="content",
                limit=limit,
                remedy="Scale it down: 300 dots per inch are enough to read print.",
            ) from error
