"""Los envíos en PostgreSQL. Aquí están todas las sentencias del servicio."""

GUARDAR = """
    INSERT INTO envios (id, localizador, comercio_id, estado, importe_centimos, creado_en)
    VALUES (%(id)s, %(localizador)s, %(comercio_id)s, %(estado)s, %(importe_centimos)s, %(creado_en)s)
"""

POR_LOCALIZADOR = "SELECT * FROM envios WHERE localizador = %(localizador)s"

CAMBIAR_ESTADO = """
    UPDATE envios SET estado = %(nuevo)s, version = version + 1
    WHERE id = %(id)s AND version = %(version)s
    RETURNING version
"""

SIN_RECOGER = """
    SELECT e.id, e.localizador, r.hueco_id
    FROM envios e JOIN reservas r ON r.envio_id = e.id AND r.activa
    WHERE e.estado = 'en_taquilla' AND r.depositado_en < %(limite)s
    ORDER BY r.depositado_en
"""


class RepositorioDeEnvios:
    def __init__(self, conexion):
        self._conexion = conexion

    def existe(self, localizador: str) -> bool:
        return self._conexion.execute(POR_LOCALIZADOR, {"localizador": localizador}).fetchone() is not None

    def cambiar_estado(self, envio_id, nuevo, version: int) -> bool:
        """Bloqueo optimista: devuelve False si otro proceso lo cambió antes."""
        valores = {"id": envio_id, "nuevo": nuevo, "version": version}
        return self._conexion.execute(CAMBIAR_ESTADO, valores).fetchone() is not None

    def sin_recoger(self, limite):
        """Paquetes que llevan en el armario más del plazo: se devuelven a la nave."""
        return self._conexion.execute(SIN_RECOGER, {"limite": limite}).fetchall()
