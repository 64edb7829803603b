"""Guarda las respuestas de las peticiones que crean algo, por su clave."""

import hashlib
import json
from datetime import timedelta

from comun.errores import ClaveRepetida, EnCurso

CONSERVACION = timedelta(hours=48)

RESERVAR = """
    INSERT INTO claves_vistas (comercio_id, clave, resumen, creada_en)
    VALUES (%(comercio)s, %(clave)s, %(resumen)s, %(ahora)s)
    ON CONFLICT DO NOTHING
    RETURNING clave
"""
LEER = "SELECT resumen, respuesta FROM claves_vistas WHERE comercio_id = %(comercio)s AND clave = %(clave)s"
GUARDAR = "UPDATE claves_vistas SET respuesta = %(respuesta)s WHERE comercio_id = %(comercio)s AND clave = %(clave)s"
LIMPIAR = "DELETE FROM claves_vistas WHERE creada_en < %(limite)s"


def resumen_de(cuerpo: dict) -> str:
    """El mismo contenido da el mismo resumen aunque cambie el orden de los campos."""
    return hashlib.sha256(json.dumps(cuerpo, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class UnaVez:
    def __init__(self, conexion, reloj):
        self._conexion = conexion
        self._reloj = reloj

    def ejecutar(self, comercio: str, clave: str, cuerpo: dict, accion):
        resumen = resumen_de(cuerpo)
        valores = {"comercio": comercio, "clave": clave, "resumen": resumen, "ahora": self._reloj.ahora()}
        if self._conexion.execute(RESERVAR, valores).fetchone() is None:
            anterior, respuesta = self._conexion.execute(LEER, valores).fetchone()
            if anterior != resumen:
                raise ClaveRepetida(clave)
            if respuesta is None:
                raise EnCurso(clave)
            return respuesta
        respuesta = accion()
        self._conexion.execute(GUARDAR, {**valores, "respuesta": json.dumps(respuesta)})
        return respuesta
