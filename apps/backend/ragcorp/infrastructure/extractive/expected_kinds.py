"""Which kinds of values answer a question, by its question words."""

from __future__ import annotations

import re

from ragcorp.infrastructure.extractive.values import ValueKind

_MONEY = (
    r"(?:cuesta|gast|costo|costar|coste|vale|paga|pagar|pago|cobra|cobrar|importe|precio|tarifa|cuota|renta|factur|"
    r"presupuest|sueldo|salario|franquicia|multa|fianza|indemniz|abono|sale|"
    r"price|cost|fee|amount|budget|salary|charge|pay|preco|custa|valor|taxa)"
)
_RATE = (
    r"(?:porcentaje|descuento|recargo|penaliz|tope|comision|interes|iva|percentage|discount|rate|desconto|percentual)"
)
_UNITS = (
    r"(?:segundos|minutos|horas|dias|semanas|meses|a[nñ]os|mensualidades|hours|days|weeks|months|years|minutes|seconds)"
)

_RULES: tuple[tuple[frozenset[ValueKind], tuple[str, ...]], ...] = (
    (frozenset({ValueKind.TIME}), (r"\bque horas?\b", r"\bque horario\b", r"\bwhat time\b")),
    (
        frozenset({ValueKind.DURATION}),
        (
            r"\bcuant[oa]s? tiempo",
            r"\bcuanto (?:tarda|dura)",
            rf"\bcuant[oa]s {_UNITS}",
            r"\bcuanta antelacion",
            r"\bque (?:plazo|antelacion|preaviso|duracion|periodo)",
            r"\bcual es el plazo",
            r"\bhow long",
            rf"\bhow many {_UNITS}",
            r"\bwhat (?:term|notice)",
            r"\bquanto tempo",
            rf"\bquant[oa]s {_UNITS}",
        ),
    ),
    (
        frozenset({ValueKind.FREQUENCY}),
        (r"\bcada cuant[oa]s?\b", r"\bcada que tiempo\b", r"\bfrecuencia\b", r"\bhow often\b"),
    ),
    (frozenset({ValueKind.FREQUENCY, ValueKind.QUANTITY}), (r"\bcuantas veces\b", r"\bhow many times\b")),
    (frozenset({ValueKind.MONTH}), (r"\b(?:que|cual es el|which|what) (?:mes|month)\b",)),
    (
        frozenset({ValueKind.DATE}),
        (
            r"\b(?:que|cual es el) (?:dias?|a[nñ]o)\b",
            r"\b(?:que|cual es la) fecha",
            r"\b(?:what|which) (?:date|day)",
            r"\bque data\b",
        ),
    ),
    (frozenset({ValueKind.DATE, ValueKind.TIME, ValueKind.DURATION}), (r"\bcuando\b", r"\bwhen\b", r"\bquando\b")),
    (frozenset({ValueKind.PERSON, ValueKind.NAME}), (r"^\W*(?:a|con) quien(?:es)?\b", r"^\W*whom\b")),
    (frozenset({ValueKind.PERSON}), (r"^\W*(?:\w+ )?(?:quien(?:es)?|who|whose|quem)\b", r"\bque persona")),
    (
        frozenset({ValueKind.EMAIL}),
        (r"\b(?:que|cual es el|cual es la direccion de) (?:correo|e-?mail|buzon)\b", r"\bwhat e-?mail"),
    ),
    (
        frozenset({ValueKind.PHONE}),
        (r"\b(?:que|cual es el|cual es la) (?:numero de )?(?:telefono|extension)\b", r"\bwhat phone"),
    ),
    (
        frozenset({ValueKind.CODE}),
        (
            r"\bque (?:codigo|referencia|numero|expediente|cif|nif|matricula|serie|puerto)",
            r"\bcual es el (?:codigo|numero|cif|nif|puerto|expediente)",
            r"\b(?:what|which) (?:code|number|port)",
        ),
    ),
    (
        frozenset({ValueKind.AMOUNT}),
        (
            rf"\bcuanto(?: \w+){{0,2}} {_MONEY}",
            rf"\bque {_MONEY}",
            rf"\bcual(?: \w+){{0,3}} {_MONEY}",
            r"\bhow much\b",
            rf"\bwhat(?: \w+){{0,4}} {_MONEY}",
            rf"\bquanto {_MONEY}",
            r"^\W*precio\b",
            r"\ba cuanto\b",
            r"\bcuantos euros\b",
        ),
    ),
    (
        frozenset({ValueKind.PERCENT, ValueKind.AMOUNT}),
        (rf"\b(?:que|cual|cuanto)(?: \w+){{0,4}} {_RATE}", rf"\bwhat(?: \w+){{0,3}} {_RATE}", r"\bse descuenta"),
    ),
    (
        frozenset({ValueKind.VERSION}),
        (r"\bque version", r"\bversion minima", r"\bwhat\b[^?]*\bversion", r"\bwhich version"),
    ),
    (
        frozenset({ValueKind.NAME}),
        (
            r"\bque (?:empresa|compa[nñ]ia|proveedor|banco|marca|fabricante|aseguradora|ciudad|pais)",
            r"\bwhich (?:company|city)",
            r"\bdonde\b",
            r"\bwhere\b",
            r"\bonde\b",
        ),
    ),
    (frozenset({ValueKind.AMOUNT, ValueKind.PERCENT, ValueKind.DURATION, ValueKind.QUANTITY}), (r"\bcuant[oa]\b",)),
    (
        frozenset({ValueKind.NAME, ValueKind.CODE, ValueKind.PERSON}),
        (
            r"\bcomo se llama",
            r"\bcual es el nombre",
            r"\bque nombre",
            r"\bwhat is the name",
            r"\bwhat (?:is|are) .{3,40} called",
        ),
    ),
    (frozenset({ValueKind.QUANTITY}), (r"\bcuant[oa]s\b", r"\bhow many\b", r"\bquant[oa]s?\b")),
)
"""The first rule that matches decides: narrow rules come before wide ones."""

_COMPILED = tuple((re.compile("|".join(patterns)), kinds) for kinds, patterns in _RULES)


def expected_kinds(question: str) -> frozenset[ValueKind]:
    """Return the kinds of values that may answer a folded question, from its question word on; none if any may."""
    return next((kinds for pattern, kinds in _COMPILED if pattern.search(question)), frozenset())
