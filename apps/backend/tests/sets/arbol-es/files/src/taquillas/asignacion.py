"""Elige el hueco en que se deja un paquete."""

from dataclasses import dataclass
from datetime import timedelta

from comun.errores import ArmarioLleno

TAMANOS = ("S", "M", "L", "XL")
CADUCIDAD_RESERVA = timedelta(hours=24)
MARGEN_MISMO_DIA = 0.15
"""Parte de los huecos que se guarda para las entregas urgentes del día."""

ALTURA_ACCESIBLE_CM = 120


@dataclass(frozen=True)
class Hueco:
    id: str
    tamano: str
    altura_cm: int
    usos: int


def elegir_hueco(libres: list[Hueco], tamano: str, total: int, *, urgente: bool, accesible: bool) -> Hueco:
    """Prefiere el tamaño justo y, dentro de él, el hueco menos usado, para repartir el desgaste.

    Quien pide accesibilidad recibe una puerta baja aunque sea más grande de lo necesario.
    """
    if not urgente and len(libres) <= total * MARGEN_MISMO_DIA:
        raise ArmarioLleno("E-4701")
    validos = [hueco for hueco in libres if TAMANOS.index(hueco.tamano) >= TAMANOS.index(tamano)]
    if accesible:
        validos = [hueco for hueco in validos if hueco.altura_cm <= ALTURA_ACCESIBLE_CM]
    if not validos:
        raise ArmarioLleno("E-4701")
    return min(validos, key=lambda hueco: (TAMANOS.index(hueco.tamano), hueco.usos, hueco.id))


def tamano_para(bulto) -> str:
    """El menor hueco en que cabe, girándolo si hace falta."""
    lados = sorted((bulto.largo_cm, bulto.ancho_cm, bulto.alto_cm))
    for tamano, medidas in (("S", (9, 38, 60)), ("M", (19, 38, 60)), ("L", (39, 38, 60)), ("XL", (79, 38, 60))):
        if all(lado <= medida for lado, medida in zip(lados, sorted(medidas))):
            return tamano
    raise ArmarioLleno("E-4701")
