"""Builds what reads documents; as a program, a child that reads them for ``ChildPool``."""

import json
import sys

from ragcorp.application.documents.reading import DocumentReader
from ragcorp.infrastructure.parsing.chunker import StructureChunker
from ragcorp.infrastructure.parsing.parser import MultiFormatParser
from ragcorp.infrastructure.structure.extractor import TreeSitterExtractor
from ragcorp.infrastructure.structure.tokenizer import SplintrTokenizer


def make_reader(parser: MultiFormatParser, *, max_tokens: int, overlap_tokens: int) -> DocumentReader:
    return DocumentReader(
        parser=parser,
        chunker=StructureChunker(max_tokens=max_tokens, overlap_tokens=overlap_tokens),
        structure=TreeSitterExtractor(tokenizer=SplintrTokenizer()),
    )


def main() -> None:
    from ragcorp.infrastructure.sandbox.child import serve

    options = json.loads(sys.argv[1])
    parent, memory_bytes, recognizes = (options.pop(name) for name in ("parent", "memory_bytes", "recognizes"))
    reader = make_reader(MultiFormatParser(recognizes=recognizes), **options)
    serve(reader, parent=parent, memory_bytes=memory_bytes)


if __name__ == "__main__":
    main()
