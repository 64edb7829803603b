"""Números de factura: una serie y un año, correlativos y sin huecos."""

from comun.errores import SerieCerrada

SERIE_NORMAL = "A"
SERIE_RECTIFICATIVA = "R"
SERIE_ABONO = "B"

SIGUIENTE = """
    UPDATE series SET ultimo = ultimo + 1
    WHERE serie = %(serie)s AND ejercicio = %(ejercicio)s AND NOT cerrada
    RETURNING ultimo
"""


class Numerador:
    """Da el siguiente número dentro de la transacción que guarda la factura.

    Se usa una fila bloqueada y no una secuencia de PostgreSQL: una secuencia deja huecos cuando la transacción se
    deshace, y la ley no los admite.
    """

    def __init__(self, conexion):
        self._conexion = conexion

    def siguiente(self, serie: str, ejercicio: int) -> str:
        fila = self._conexion.execute(SIGUIENTE, {"serie": serie, "ejercicio": ejercicio}).fetchone()
        if fila is None:
            raise SerieCerrada(serie, ejercicio)
        return f"{serie}{ejercicio % 100:02d}-{fila[0]:06d}"

    def cerrar(self, ejercicio: int) -> None:
        self._conexion.execute("UPDATE series SET cerrada = true WHERE ejercicio = %s", (ejercicio,))


def partes(numero: str) -> tuple[str, int, int]:
    """Devuelve serie, ejercicio y correlativo de un número como A25-000318."""
    cabecera, _, correlativo = numero.partition("-")
    return cabecera[0], 2000 + int(cabecera[1:]), int(correlativo)
