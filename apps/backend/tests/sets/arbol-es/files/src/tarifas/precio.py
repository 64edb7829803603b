"""Precio de un bulto según zona, servicio y tarifa. Céntimos, sin impuestos."""

from decimal import ROUND_UP, Decimal

DIVISOR = 5000
DIVISOR_GRANDES = 4000
LADO_GRANDE_CM = 60

TRAMOS_KG = (1, 3, 5, 10, 20, 30)

SUPLEMENTOS = {
    "peninsula": Decimal("0"),
    "baleares": Decimal("0.45"),
    "canarias": Decimal("0.80"),
    "ceuta": Decimal("0.80"),
    "melilla": Decimal("0.80"),
    "portugal": Decimal("0.30"),
}
ADUANA_CENTIMOS = 950


def peso_volumetrico(bulto) -> Decimal:
    """Kilos que ocupa: largo por ancho por alto entre el divisor, que es menor en los bultos voluminosos."""
    divisor = DIVISOR_GRANDES if bulto.lado_mayor > LADO_GRANDE_CM else DIVISOR
    return Decimal(bulto.largo_cm * bulto.ancho_cm * bulto.alto_cm) / divisor


def peso_facturable(bulto) -> Decimal:
    return max(Decimal(bulto.peso_gramos) / 1000, peso_volumetrico(bulto))


def tramo(kilos: Decimal) -> int:
    """El primer tramo en que cabe; por encima de 30 kg se cobra el último."""
    return next((limite for limite in TRAMOS_KG if kilos <= limite), TRAMOS_KG[-1])


def precio_de(bulto, zona, servicio: str, tarifa) -> int:
    base = Decimal(tarifa.precios[servicio][tramo(peso_facturable(bulto))])
    con_suplemento = base * (1 + SUPLEMENTOS[zona.territorio])
    centimos = int(con_suplemento.quantize(Decimal("1"), rounding=ROUND_UP))
    if zona.territorio in ("canarias", "ceuta", "melilla"):
        centimos += ADUANA_CENTIMOS
    return centimos - centimos * tarifa.descuento_por_ciento // 100
