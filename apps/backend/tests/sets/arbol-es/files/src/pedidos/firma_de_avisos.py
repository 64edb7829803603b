"""Firma los avisos que se mandan a la dirección del comercio."""

import hashlib
import hmac
import time

CABECERA = "X-Ribera-Firma"
VENTANA_SEGUNDOS = 300


def firmar(secreto: bytes, cuerpo: bytes, instante: int | None = None) -> str:
    """Devuelve ``t=<segundos>,v1=<hmac>``: el instante entra en la firma para que no se pueda repetir."""
    instante = int(time.time()) if instante is None else instante
    mensaje = f"{instante}.".encode() + cuerpo
    return f"t={instante},v1={hmac.new(secreto, mensaje, hashlib.sha256).hexdigest()}"


def comprobar(secreto: bytes, cuerpo: bytes, cabecera: str, ahora: int) -> bool:
    partes = dict(parte.split("=", 1) for parte in cabecera.split(",") if "=" in parte)
    try:
        instante = int(partes["t"])
    except (KeyError, ValueError):
        return False
    if abs(ahora - instante) > VENTANA_SEGUNDOS:
        return False
    return hmac.compare_digest(firmar(secreto, cuerpo, instante), cabecera)


ESPERAS = (1, 5, 30, 120, 600, 3600, 14400, 43200)
"""Segundos entre intentos: el último llega a las 17 horas."""


def siguiente_intento(fallos: int) -> int | None:
    """Segundos hasta el próximo envío del aviso, o None si ya no se intenta más."""
    return ESPERAS[fallos - 1] if fallos <= len(ESPERAS) else None
