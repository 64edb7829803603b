"""Formats that kreuzberg reads well enough."""

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.extraction import Request, extract
from ragcorp.infrastructure.parsing.kinds.mending import mend
from ragcorp.infrastructure.parsing.kinds.pdf import real_title
from ragcorp.infrastructure.parsing.kinds.reading import Reading

_KINDS = {media_types.NOTEBOOK: "notebook", media_types.DOC: "Word", media_types.PPT: "PowerPoint"}


def read_other(file: SourceFile, _: Reading) -> ParsedText:
    found = extract(file.content, Request(media_type=file.media_type), _KINDS[file.media_type])
    return ParsedText(text=mend(found.text, escaped=True), title=real_title(found.title))
