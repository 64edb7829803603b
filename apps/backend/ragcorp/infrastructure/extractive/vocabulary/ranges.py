"""Ranges in the rows of tables: 100 kg stands in "De 51 a 150 kg"."""

from __future__ import annotations

import re

OPEN = 0.8

_UNITS = dict.fromkeys(("euro", "euros", "eur"), r"€|\beuros?\b|\d,\d\d\b")
_NUMBER = r"(\d+(?:[.  ]\d{3})*(?:,\d+)?)"
_TO = r"\s*(?:€|euros|kg|kw|m|m2|m³|%|h|horas|dias|usuarios|posiciones)?(?:\s+\w+)?\s*(?:a|hasta|y|-|–|to|and|e)\s+"  # noqa: RUF001
_BETWEEN = re.compile(rf"(?:\bde|\bdesde|\bentre|\bfrom|\bbetween|^|\|)\s*{_NUMBER}{_TO}{_NUMBER}")
_UP_TO = re.compile(
    r"(?:\bhasta|\bmaximo|\binferior a|\bmenor (?:de|que)|\bpor debajo de|\bmenos de|\bup to|\bless than|\bate|<=?|≤)"
    rf"\s*{_NUMBER}"
)
_FROM = re.compile(
    r"(?:\bmas de|\ba partir de|\bdesde|\bsuperior a|\bmayor (?:de|que)|\bpor encima de|\bmore than|\bover|\bmais de"
    rf"|>=?|≥)\s*{_NUMBER}"
)


def range_match(phrase: str, plain: str) -> float:
    """Return how well the first range in folded text holds the number of ``phrase``, as "100 kg": 1, OPEN or 0.

    A range that does not name the phrase's unit holds nothing. An open range is "hasta 50" or "más de 500".
    """
    found = re.match(r"(\d+(?:[.,]\d+)*)\s+(\w+)$", phrase)
    if found is None or not re.search(_UNITS.get(found.group(2), rf"\b{re.escape(found.group(2))}\b"), plain):
        return 0.0
    number = number_of(found.group(1))
    if between := _BETWEEN.search(plain):
        return float(number_of(between.group(1)) <= number <= number_of(between.group(2)))
    if upper := _UP_TO.search(plain):
        return OPEN * (number <= number_of(upper.group(1)))
    if lower := _FROM.search(plain):
        return OPEN * (number > number_of(lower.group(1)))
    return 0.0


def number_of(written: str) -> float:
    """Return a number written as in Spanish: 1.200,50."""
    return float(re.sub(r"[.  ](?=\d{3})", "", written).replace(",", "."))
