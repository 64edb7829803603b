"""Guion: libera las reservas que caducaron sin que llegase el paquete."""

import argparse
import sys

from comun.reloj import ahora

LIMITE_POR_DEFECTO = 100

CADUCADAS = """
    SELECT id, armario_id FROM reservas
    WHERE activa AND depositado_en IS NULL AND caduca_en < %(instante)s
      AND provincia = %(provincia)s
    ORDER BY caduca_en
"""

LIBERAR = "UPDATE reservas SET activa = false, motivo = 'caducada' WHERE id = ANY(%(ids)s)"


def argumentos(lista=None):
    analizador = argparse.ArgumentParser(description=__doc__)
    analizador.add_argument("--provincia", required=True, help="dos cifras; sin ella no se hace nada")
    analizador.add_argument("--simular", action="store_true", help="solo enseña lo que tocaría")
    analizador.add_argument("--sin-limite", action="store_true")
    return analizador.parse_args(lista)


def ejecutar(conexion, opciones) -> int:
    instante = ahora()  # siempre UTC: la hora local causó INC-2078
    filas = conexion.execute(CADUCADAS, {"instante": instante, "provincia": opciones.provincia}).fetchall()
    if len(filas) > LIMITE_POR_DEFECTO and not opciones.sin_limite:
        print(f"{len(filas)} reservas superan el límite de {LIMITE_POR_DEFECTO}", file=sys.stderr)
        return 2
    for fila in filas:
        print(fila[0], fila[1])
    if not opciones.simular:
        conexion.execute(LIBERAR, {"ids": [fila[0] for fila in filas]})
    return 0
