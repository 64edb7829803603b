"""From a file to its text, passages and entities. Pure computation, blocking and possibly slow."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragcorp.domain.documents import ChunkDraft, ParsedText, SourceFile
from ragcorp.domain.ports.structure import StructureExtractor
from ragcorp.domain.ports.text import Chunker, Digest, DocumentParser
from ragcorp.domain.recognition import RecognizedPage
from ragcorp.domain.structure.entities import DocumentStructure

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReader:
    """Reads documents; without ``structure`` they get no entities."""

    parser: DocumentParser
    chunker: Chunker
    structure: StructureExtractor | None = None

    def parse(self, file: SourceFile) -> ParsedText:
        return self.parser.parse(file)

    def digest(self, file: SourceFile, path: str, recognized: Sequence[RecognizedPage] = ()) -> Digest:
        return self.index(self.parser.parse(file, recognized), file.filename, path)

    def index(self, parsed: ParsedText, filename: str, path: str) -> Digest:
        # a stored text has lost its mark as plain
        parsed = replace(parsed, plain=self.parser.is_plain(filename))
        return Digest(
            parsed=parsed,
            chunks=tuple(_marked(chunk, parsed.recognized) for chunk in self.chunker.chunk(parsed)),
            structure=self.extract(parsed, filename, path),
        )

    def extract(self, parsed: ParsedText, filename: str, path: str) -> DocumentStructure:
        """Return the structure; if the extractor fails, log it and return one without entities."""
        if self.structure is None:
            return DocumentStructure()
        try:
            return self.structure.extract(replace(parsed, plain=self.parser.is_plain(filename)), path=path)
        except Exception:  # a parser met what its authors did not: the text is stored and found all the same
            logger.exception("the entities of a document could not be extracted")
            return DocumentStructure(fingerprint=self.structure.fingerprint, path=path)


def _marked(chunk: ChunkDraft, confidences: Mapping[int, float]) -> ChunkDraft:
    """Return the chunk with the lowest confidence of its pages."""
    if not confidences or chunk.page_start is None or chunk.page_end is None:
        return chunk
    pages = range(chunk.page_start, chunk.page_end + 1)
    found = [confidences[page] for page in pages if page in confidences]
    return replace(chunk, recognition_confidence=min(found, default=None))
