"""Impuestos indirectos de una factura. Los importes son céntimos enteros."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from comun.errores import TerritorioDesconocido

IVA_GENERAL = Decimal("0.21")
IGIC_GENERAL = Decimal("0.07")
IPSI_SERVICIOS = Decimal("0.04")

TIPOS = {
    "peninsula": IVA_GENERAL,
    "baleares": IVA_GENERAL,
    "canarias": IGIC_GENERAL,
    "ceuta": IPSI_SERVICIOS,
    "melilla": IPSI_SERVICIOS,
}


@dataclass(frozen=True)
class LineaImponible:
    concepto: str
    base_centimos: int
    territorio: str
    exenta: bool = False


def tipo_aplicable(territorio: str) -> Decimal:
    try:
        return TIPOS[territorio]
    except KeyError:
        raise TerritorioDesconocido(territorio) from None


def calcular_iva(base_centimos: int, tipo: Decimal) -> int:
    """Redondea al céntimo más próximo; el medio céntimo sube."""
    cuota = Decimal(base_centimos) * tipo
    return int(cuota.quantize(Decimal("1"), rounding=ROUND_HALF_UP))


def calcular_total(lineas: list[LineaImponible]) -> int:
    """Suma bases y cuotas. La cuota se calcula por territorio y no por línea, para no acumular redondeos."""
    bases: dict[str, int] = {}
    total = 0
    for linea in lineas:
        total += linea.base_centimos
        if not linea.exenta:
            bases[linea.territorio] = bases.get(linea.territorio, 0) + linea.base_centimos
    for territorio, base in bases.items():
        total += calcular_iva(base, tipo_aplicable(territorio))
    return total
