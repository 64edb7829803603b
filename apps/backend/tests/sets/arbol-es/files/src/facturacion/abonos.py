"""Abonos: dinero que se devuelve a un comercio o a un particular."""

from dataclasses import dataclass
from enum import Enum

from comun.errores import AbonoExcesivo
from facturacion.numeracion import SERIE_ABONO, Numerador

PENALIZACION_POR_DECIMA = 1
PENALIZACION_MAXIMA = 15
"""Tanto por ciento de la factura del servicio, según el acuerdo de nivel de servicio."""


class Motivo(Enum):
    PERDIDA = "perdida"
    RETRASO = "retraso"
    DUPLICADO = "cobro_duplicado"
    PENALIZACION = "penalizacion"


@dataclass(frozen=True)
class Abono:
    comercio_id: str
    motivo: Motivo
    importe_centimos: int
    facturas: tuple[str, ...]


def penalizacion(factura_centimos: int, compromiso: float, medido: float) -> int:
    """Devuelve el descuento por disponibilidad: un 1 % por cada décima que falte, con tope."""
    decimas = max(0, round((compromiso - medido) * 10))
    porcentaje = min(PENALIZACION_MAXIMA, decimas * PENALIZACION_POR_DECIMA)
    return factura_centimos * porcentaje // 100


class TramitarAbono:
    def __init__(self, repositorio, conexion):
        self._repositorio = repositorio
        self._numerador = Numerador(conexion)

    def ejecutar(self, abono: Abono, ejercicio: int) -> str:
        cobrado = sum(self._repositorio.cobrado(numero) for numero in abono.facturas)
        if abono.importe_centimos > cobrado:
            raise AbonoExcesivo(abono.comercio_id, cobrado)
        numero = self._numerador.siguiente(SERIE_ABONO, ejercicio)
        self._repositorio.guardar_abono(numero, abono)
        return numero
