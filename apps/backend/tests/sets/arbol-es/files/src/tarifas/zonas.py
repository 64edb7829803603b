"""De un código postal a la zona de reparto."""

import re
from dataclasses import dataclass

PATRON = re.compile(r"\d{5}")

PROVINCIAS_INSULARES = {"07": "baleares", "35": "canarias", "38": "canarias", "51": "ceuta", "52": "melilla"}
SIN_RECOGIDA = frozenset({"44312", "42172", "25598", "10627"})
"""Pueblos sin ruta diaria: se entrega en el punto más próximo."""


@dataclass(frozen=True)
class Zona:
    codigo_postal: str
    territorio: str
    recogida_diaria: bool


def zona_de(codigo_postal: str) -> Zona | None:
    """Devuelve la zona, o None si el código no existe o no damos servicio allí."""
    limpio = codigo_postal.strip().zfill(5)
    if not PATRON.fullmatch(limpio) or not "01" <= limpio[:2] <= "52":
        return None
    territorio = PROVINCIAS_INSULARES.get(limpio[:2], "peninsula")
    return Zona(limpio, territorio, limpio not in SIN_RECOGIDA)


def misma_ruta(uno: Zona, otro: Zona) -> bool:
    """Dos códigos comparten furgoneta si coinciden en los tres primeros dígitos y tienen recogida diaria."""
    return (
        uno.recogida_diaria
        and otro.recogida_diaria
        and uno.codigo_postal[:3] == otro.codigo_postal[:3]
    )
