"""Formats that kreuzberg reads well enough."""

import json

from ragcorp.domain.documents import ParsedText, SourceFile, UnreadKind
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.extraction import Request, extract, shielded
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading, unread

_KINDS = {media_types.NOTEBOOK: "notebook", media_types.DOC: "Word", media_types.PPT: "PowerPoint"}


def read_other(file: SourceFile, _: Reading) -> ParsedText:
    found = extract(file.content, Request(media_type=file.media_type), _KINDS[file.media_type])
    with shielded(_KINDS[file.media_type]):
        images = _images(file.content) if file.media_type == media_types.NOTEBOOK else 0
    return ParsedText(
        text=mend(found.text, escaped=True),
        title=real_title(found.title),
        unread=unread(UnreadKind.IMAGE, count=images),
    )


def _images(notebook: bytes) -> int:
    """Return how many outputs and attachments of the cells are images."""
    cells = json.loads(notebook)["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    attached = [bundle for cell in cells for bundle in cell.get("attachments", {}).values()]
    return sum(any(kind.startswith("image/") for kind in bundle) for bundle in outputs + attached)
