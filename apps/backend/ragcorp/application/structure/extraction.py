"""Extracts the entities of a document; a failing extractor never fails the document."""

import logging

from ragcorp.domain.documents import ParsedText
from ragcorp.domain.ports.structure import StructureExtractor
from ragcorp.domain.structure.entities import DocumentStructure

logger = logging.getLogger(__name__)


def extracted(extractor: StructureExtractor, parsed: ParsedText, *, path: str, title: str) -> DocumentStructure:
    """Return the structure; if the extractor fails, log it and return one without entities."""
    try:
        return extractor.extract(parsed, path=path, title=title)
    except Exception:  # a parser met what its authors did not: the text is stored and found all the same
        logger.exception("the entities of a document could not be extracted")
        return DocumentStructure(fingerprint=extractor.fingerprint, path=path)
