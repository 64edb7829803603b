"""Kinds of values that questions ask for, and where Spanish, English and Portuguese text has them."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache

from ragcorp.domain.text.folding import folded_in_place
from ragcorp.domain.text.word_lists import word_set
from ragcorp.infrastructure.extractive.words import listed


class ValueKind(StrEnum):
    AMOUNT = "amount"
    PERCENT = "percent"
    DURATION = "duration"
    FREQUENCY = "frequency"
    DATE = "date"
    MONTH = "month"
    TIME = "time"
    QUANTITY = "quantity"
    PERSON = "person"
    NAME = "name"
    EMAIL = "email"
    PHONE = "phone"
    CODE = "code"
    VERSION = "version"


MONTHS = listed(
    "enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre "
    "january february march april may june july august september october november december "
    "janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro"
)
_WEEKDAYS = listed(
    "lunes martes miercoles jueves viernes sabado domingo monday tuesday wednesday thursday friday saturday sunday "
    "segunda-feira terca-feira quarta-feira quinta-feira sexta-feira"
)
_PERIODS = listed("dias semanas meses trimestres anos años turnos")
_NUMBER_WORDS = listed(
    "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho "
    "diecinueve veinte veintiun veintiuno veintiuna veintidos veintitres veinticuatro veinticinco veintiseis "
    "veintisiete veintiocho veintinueve treinta cuarenta cincuenta sesenta setenta ochenta noventa cien ciento "
    "doscientos doscientas trescientos trescientas cuatrocientos quinientos quinientas mil millon millones "
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty ninety "
    "hundred thousand dois duas quatro sete oito nove dez doze vinte trinta quarenta sessenta oitenta cem"
)
_ONE = r"\b(?:un|una|uno|one|um|uma)"


def _any(words: Sequence[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_DIGITS = r"\d+(?:[.,  ]\d+)*"
_WORDS = rf"\b{_any(_NUMBER_WORDS)}(?:\s+(?:[ye]\s+)?{_any(_NUMBER_WORDS)})*\b"
_NUMBER = rf"(?:{_DIGITS}|{_WORDS})"
_MONTH = _any(MONTHS)
_CURRENCY = (
    r"(?:€|\beur\b|\beuros?\b|us\$|r\$|\$|£|\busd\b|\bdolares\b|\bdollars?\b|\bpesos\b|\bcentimos?\b|\bcents?\b"
    r"|\breais\b|\blibras\b)"
)
_SCALE = r"(?:\s?(?:m|mm|k|mil|millon(?:es)?|million|mill\.))?(?:\s+de)?"
_UNIT = (
    r"(?:segundos?|minutos?|horas?|dias?|semanas?|quincenas?|mes(?:es)?|bimestres?|trimestres?|cuatrimestres?|semestres?|a[nñ]os?|jornadas?|"
    r"mensualidades|seconds?|minutes?|hours?|days?|weeks?|months?|years?|min|h)\b"
)

_PATTERNS: dict[ValueKind, str] = {
    ValueKind.AMOUNT: rf"{_CURRENCY}\s?{_DIGITS}|{_NUMBER}{_SCALE}\s?{_CURRENCY}",
    ValueKind.PERCENT: rf"{_NUMBER}\s?(?:%|por ciento|por cento|per ?cent)",
    ValueKind.DURATION: rf"(?:{_NUMBER}|{_ONE})\s+{_UNIT}|\bmedia hora\b|\bhalf an hour\b",
    ValueKind.FREQUENCY: (
        rf"\b(?:cada|every|each)\s+(?:{_NUMBER}\s+)?{_UNIT}|\b(?:los|cada|every) {_any(_WEEKDAYS)}"
        rf"|\b(?:(?:{_NUMBER}|una)\s+(?:vez|veces|times)|once|twice)\s+(?:al|por|a|per)\s+{_UNIT}"
        r"|\b(?:a diario|diari|semanal|quincenal|mensual|bimestral|trimestral|cuatrimestral|semestral|anual)\w*"
        rf"|\b(?:dai|week|month|quarter|year)ly\b|\btod[oa]s l[oa]s {_any(_PERIODS)}"
    ),
    ValueKind.DATE: (
        rf"\b\d{{1,2}}(?:\.?º)?(?:\s+(?:de|of))?\s+{_MONTH}\b|\b{_MONTH}\s+\d{{1,2}}\b|"
        rf"\b\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}\b|\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b{_MONTH}(?:\s+de)?\s+\d{{4}}\b|"
        rf"\b{_any(_WEEKDAYS)}s?\b"
        r"|\b(?:en|in|em|hasta|desde|until|since|durante|during|fin(?:al)?es de|mediados de)"
        rf"\s+{_MONTH}\b"
    ),
    ValueKind.MONTH: rf"\b{_MONTH}\b",
    ValueKind.TIME: r"\b\d{1,2}[:h]\d{2}\b|\ba las? \d{1,2}\b|\b\d{1,2}\s?(?:a\.?m|p\.?m)\b",
    ValueKind.QUANTITY: rf"{_NUMBER}",
    ValueKind.EMAIL: r"[\w.+-]+@[\w-]+\.[\w.-]+",
    ValueKind.PHONE: r"\+?\d{2,3}(?:[ .-]\d{2,3}){2,}|\b\d{9}\b|\bext(?:ension|\.)?\s?\d{2,}",
    ValueKind.CODE: (
        r"(?<![\w.,])(?=[\w./-]*\d)(?=[\w./-]*[a-z])[\w]+(?:[./-]\w+)*|(?<![\w.,])\d+(?:[-/]\d+)+|`[^`]+`|"
        r"(?<![\w.,-])\d{3,}(?![.,]?\d|\s?(?:€|%|euros|[a-z]))|(?<=puerto )\d+|(?<=numero )\d+"
    ),
    ValueKind.VERSION: r"\b\d+(?:\.\d+)+\b|\bversion\s+\d+|\bv\d+\b|\b[a-z]+ \d{1,2}\b",
}
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b(?![.,]\d)")
_CODE_IN_CAPITALS = re.compile(r"\b[A-ZÑ]{2,}(?:-[A-Z0-9]+)+\b")
_PARTICLE = r"(?:\s+(?:de|del|de la|y|da|do|dos|van|von))?"
_CAPITALISED = r"[A-ZÁÉÍÓÚÜÑÇ][a-záéíóúüñç]+"
_PERSON = re.compile(
    rf"\b(?:don|doña|d\.|dña\.|Sr\.|Sra\.|Mr\.|Ms\.|Mrs\.)\s+{_CAPITALISED}|\b{_CAPITALISED}(?:{_PARTICLE}\s+{_CAPITALISED})+"
)
_OFFICE = re.compile(
    r"\b(?:director[a]?|jef[ea]|responsable|gerente|coordinador[a]?|"
    r"administrador[a]?|tecnic[oa]|delegad[oa]|president[ea]|"
    r"secretari[oa]|comite|departamento|direccion|area|equipo|manager|director|head|team) "
    r"(?:de|del|general|financier[oa]|comercial|of)\b"
)
_NAME = re.compile(rf"(?<=[\w,;:»”)]\s)(?:[«“\"])?(?:{_CAPITALISED}|[A-ZÑ]{{2,}}\b)")
_CELL_AMOUNT = re.compile(r"\d+(?:[.  ]\d{3})*,\d{1,2}|\d+\.\d{2}")
_ROLES = word_set(
    "operador cliente proveedor comprador contrato empresa parte partes usuario suministrador transportista "
    "cargador arrendador arrendadora arrendataria licenciante titular anexo clausula articulo responsable comite"
)

OPEN = 0.8
"""Strength of an open range, as "hasta 50" or "más de 500"."""

_RANGE_UNITS = dict.fromkeys(("euro", "euros", "eur"), r"€|\beuros?\b|\d,\d\d\b")
_RANGE_END = r"(\d+(?:[.  ]\d{3})*(?:,\d+)?)"
_TO = r"\s*(?:€|euros|kg|kw|m|m2|m³|%|h|horas|dias|usuarios|posiciones)?(?:\s+\w+)?\s*(?:a|hasta|y|-|–|to|and|e)\s+"  # noqa: RUF001
_BETWEEN = re.compile(rf"(?:\bde|\bdesde|\bentre|\bfrom|\bbetween|^|\|)\s*{_RANGE_END}{_TO}{_RANGE_END}")
_UP_TO = re.compile(
    r"(?:\bhasta|\bmaximo|\binferior a|\bmenor (?:de|que)|\bpor debajo de|\bmenos de|\bup to|\bless than|\bate|<=?|≤)"
    rf"\s*{_RANGE_END}"
)
_FROM = re.compile(
    r"(?:\bmas de|\ba partir de|\bdesde|\bsuperior a|\bmayor (?:de|que)|\bpor encima de|\bmore than|\bover|\bmais de"
    rf"|>=?|≥)\s*{_RANGE_END}"
)

_MONEY = (
    r"(?:cuesta|gast|costo|costar|coste|vale|paga|pagar|pago|cobra|cobrar|importe|precio|tarifa|cuota|renta|factur|"
    r"presupuest|sueldo|salario|franquicia|multa|fianza|indemniz|abono|sale|"
    r"price|cost|fee|amount|budget|salary|charge|pay|preco|custa|valor|taxa)"
)
_RATE = (
    r"(?:porcentaje|descuento|recargo|penaliz|tope|comision|interes|iva|percentage|discount|rate|desconto|percentual)"
)
_TIME_UNITS = (
    r"(?:segundos|minutos|horas|dias|semanas|meses|a[nñ]os|mensualidades|hours|days|weeks|months|years|minutes|seconds)"
)
_EXPECTED = {
    r"\bque horas?\b|\bque horario\b|\bwhat time\b": "time",
    rf"\bcuant[oa]s? tiempo|\bcuanto (?:tarda|dura)|\bcuant[oa]s {_TIME_UNITS}|\bcuanta antelacion"
    r"|\bque (?:plazo|antelacion|preaviso|duracion|periodo)|\bcual es el plazo|\bhow long"
    rf"|\bhow many {_TIME_UNITS}|\bwhat (?:term|notice)|\bquanto tempo|\bquant[oa]s {_TIME_UNITS}": "duration",
    r"\bcada cuant[oa]s?\b|\bcada que tiempo\b|\bfrecuencia\b|\bhow often\b": "frequency",
    r"\bcuantas veces\b|\bhow many times\b": "frequency quantity",
    r"\b(?:que|cual es el|which|what) (?:mes|month)\b": "month",
    r"\b(?:que|cual es el) (?:dias?|a[nñ]o)\b|\b(?:que|cual es la) fecha|\b(?:what|which) (?:date|day)"
    r"|\bque data\b": "date",
    r"\bcuando\b|\bwhen\b|\bquando\b": "date time duration",
    r"^\W*(?:a|con) quien(?:es)?\b|^\W*whom\b": "person name",
    r"^\W*(?:\w+ )?(?:quien(?:es)?|who|whose|quem)\b|\bque persona": "person",
    r"\b(?:que|cual es el|cual es la direccion de) (?:correo|e-?mail|buzon)\b|\bwhat e-?mail": "email",
    r"\b(?:que|cual es el|cual es la) (?:numero de )?(?:telefono|extension)\b|\bwhat phone": "phone",
    r"\bque (?:codigo|referencia|numero|expediente|cif|nif|matricula|serie|puerto)"
    r"|\bcual es el (?:codigo|numero|cif|nif|puerto|expediente)|\b(?:what|which) (?:code|number|port)": "code",
    rf"\bcuanto(?: \w+){{0,2}} {_MONEY}|\bque {_MONEY}|\bcual(?: \w+){{0,3}} {_MONEY}|\bhow much\b"
    rf"|\bwhat(?: \w+){{0,4}} {_MONEY}|\bquanto {_MONEY}|^\W*precio\b|\ba cuanto\b|\bcuantos euros\b": "amount",
    rf"\b(?:que|cual|cuanto)(?: \w+){{0,4}} {_RATE}|\bwhat(?: \w+){{0,3}} {_RATE}|\bse descuenta": "percent amount",
    r"\bque version|\bversion minima|\bwhat\b[^?]*\bversion|\bwhich version": "version",
    r"\bque (?:empresa|compa[nñ]ia|proveedor|banco|marca|fabricante|aseguradora|ciudad|pais)"
    r"|\bwhich (?:company|city)|\bdonde\b|\bwhere\b|\bonde\b": "name",
    r"\bcuant[oa]\b": "amount percent duration quantity",
    r"\bcomo se llama|\bcual es el nombre|\bque nombre|\bwhat is the name"
    r"|\bwhat (?:is|are) .{3,40} called": "name code person",
    r"\bcuant[oa]s\b|\bhow many\b|\bquant[oa]s?\b": "quantity",
}
"""The kinds that a question expects, by its words. The first match decides: narrow patterns come before wide ones."""

_EXPECTED_KINDS = [
    (re.compile(pattern), frozenset(map(ValueKind, listed(kinds)))) for pattern, kinds in _EXPECTED.items()
]


def expected_kinds(question: str) -> frozenset[ValueKind]:
    """Return the kinds of values that may answer a folded question, from its question word on; none if any may."""
    return next((kinds for pattern, kinds in _EXPECTED_KINDS if pattern.search(question)), frozenset())


@cache
def _pattern(kind: ValueKind) -> re.Pattern[str]:
    """Compile the pattern of a kind when a question first needs it: some take 60 ms."""
    return re.compile(_PATTERNS[kind])


def found_values(text: str, kind: ValueKind) -> list[str]:
    """Return the values of a kind in ``text``, in order; all but names are folded. Quantities exclude other numbers."""
    if kind is ValueKind.PERSON:
        return [match.group() for match in (*_PERSON.finditer(text), *_OFFICE.finditer(folded_in_place(text)))]
    if kind is ValueKind.NAME:
        return [
            match.group() for match in _NAME.finditer(text) if folded_in_place(match.group()).strip('«“"') not in _ROLES
        ]
    plain = folded_in_place(text)
    if kind is ValueKind.QUANTITY:
        for other in (ValueKind.DATE, ValueKind.TIME, ValueKind.AMOUNT, ValueKind.PERCENT):
            plain = _pattern(other).sub(" ", plain)
        plain = _YEAR.sub(" ", plain)
    values = [match.group() for match in _pattern(kind).finditer(plain)]
    if kind is ValueKind.CODE:
        values += [code for code in _CODE_IN_CAPITALS.findall(text) if folded_in_place(code) not in values]
    return values


def is_cell_amount(cell: str) -> bool:
    """Return whether a table's cell is a number with cents, which is an amount without any currency."""
    return _CELL_AMOUNT.fullmatch(cell.strip()) is not None


def range_match(phrase: str, plain: str) -> float:
    """Return how well the first range with the unit of ``phrase`` ("100 kg") covers its number: 1, OPEN or 0."""
    match = re.match(r"(\d+(?:[.,]\d+)*)\s+(\w+)$", phrase)
    if match is None or not re.search(_RANGE_UNITS.get(match.group(2), rf"\b{re.escape(match.group(2))}\b"), plain):
        return 0.0
    number = number_of(match.group(1))
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
