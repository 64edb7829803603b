"""Tables as text."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ragcorp.domain.documents import ParsedText, SourceFile
from ragcorp.infrastructure.parsing import media_types
from ragcorp.infrastructure.parsing.decoding import clean, text_of
from ragcorp.infrastructure.parsing.kinds.reading import Reading
from ragcorp.infrastructure.parsing.kinds.sheets import sheet_blocks

_SEPARATOR_LINE = re.compile(r'\A"?sep=(.)"?[^\S\n]*(?:\n|\Z)', re.IGNORECASE)
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 64_000
_SAMPLE_ROWS = 200


def read_csv(file: SourceFile, _: Reading) -> ParsedText:
    """Return the tables; a first line ``sep=;`` names the separator of Excel."""
    text = clean(text_of(file))
    named = _SEPARATOR_LINE.match(text)
    if named:
        return ParsedText(text="\n\n".join(sheet_blocks(_rows(text[named.end() :], named.group(1)))))
    separator = "\t" if file.media_type == media_types.TSV else _separator(text)
    return ParsedText(text="\n\n".join(sheet_blocks(_rows(text, separator))))


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(max(len(text), csv.field_size_limit()))
    return csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=separator != "\t")


def _separator(text: str) -> str:
    """Return the separator that cuts the most rows into the same number of columns."""
    sample = text[:_SAMPLE]

    def evenness(separator: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in islice(_rows(sample, separator), _SAMPLE_ROWS) if row)
        del widths[1]
        return max(((rows, width) for width, rows in widths.items()), default=(0, 0))

    return max(_SEPARATORS, key=evenness)
