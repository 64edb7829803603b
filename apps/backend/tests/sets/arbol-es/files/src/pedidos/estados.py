"""Estados de un envío y los pasos permitidos entre ellos."""

from enum import Enum

from comun.errores import TransicionNoPermitida


class Estado(str, Enum):
    CREADO = "creado"
    RECOGIDO = "recogido"
    EN_NAVE = "en_nave"
    EN_REPARTO = "en_reparto"
    EN_TAQUILLA = "en_taquilla"
    ENTREGADO = "entregado"
    DEVUELTO = "devuelto"
    CANCELADO = "cancelado"
    PERDIDO = "perdido"


TRANSICIONES = {
    Estado.CREADO: {Estado.RECOGIDO, Estado.CANCELADO},
    Estado.RECOGIDO: {Estado.EN_NAVE, Estado.PERDIDO},
    Estado.EN_NAVE: {Estado.EN_REPARTO, Estado.DEVUELTO, Estado.PERDIDO},
    Estado.EN_REPARTO: {Estado.EN_TAQUILLA, Estado.ENTREGADO, Estado.EN_NAVE, Estado.PERDIDO},
    Estado.EN_TAQUILLA: {Estado.ENTREGADO, Estado.EN_NAVE},
    Estado.PERDIDO: {Estado.EN_NAVE, Estado.ENTREGADO},
}

FINALES = frozenset({Estado.ENTREGADO, Estado.DEVUELTO, Estado.CANCELADO})


def avanzar(actual: Estado, siguiente: Estado) -> Estado:
    """Devuelve el estado nuevo. Repetir el actual no es un error: los mensajes llegan dos veces."""
    if siguiente is actual:
        return actual
    if siguiente not in TRANSICIONES.get(actual, set()):
        raise TransicionNoPermitida(actual.value, siguiente.value)
    return siguiente


def se_puede_cancelar(actual: Estado) -> bool:
    """Solo antes de que la furgoneta lo recoja; después hay que pedir la devolución (E-4093)."""
    return actual is Estado.CREADO
