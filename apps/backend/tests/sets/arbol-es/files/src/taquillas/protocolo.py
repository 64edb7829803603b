"""Tramas binarias entre el servidor y los armarios."""

import struct
from enum import IntEnum

CABECERA = struct.Struct(">BBHI")
"""Versión, orden, longitud y número de secuencia, en orden de red."""

VERSION = 3
MAX_CARGA = 512


class Orden(IntEnum):
    LATIDO = 0x01
    ABRIR = 0x10
    ESTADO_PUERTAS = 0x11
    CARGAR_CODIGOS = 0x20
    ACTUALIZAR_FIRMWARE = 0x30
    REINICIAR_GUARDIAN = 0x31


class TramaInvalida(Exception):
    pass


def codificar(orden: Orden, secuencia: int, carga: bytes = b"") -> bytes:
    if len(carga) > MAX_CARGA:
        raise TramaInvalida("carga demasiado larga")
    cuerpo = CABECERA.pack(VERSION, orden, len(carga), secuencia) + carga
    return cuerpo + struct.pack(">H", crc16(cuerpo))


def descodificar(trama: bytes) -> tuple[Orden, int, bytes]:
    version, orden, longitud, secuencia = CABECERA.unpack_from(trama)
    if version != VERSION or len(trama) != CABECERA.size + longitud + 2:
        raise TramaInvalida("longitud o versión")
    (suma,) = struct.unpack_from(">H", trama, len(trama) - 2)
    if suma != crc16(trama[:-2]):
        raise TramaInvalida("suma de comprobación")
    return Orden(orden), secuencia, trama[CABECERA.size : -2]


def crc16(datos: bytes, resto: int = 0xFFFF) -> int:
    """CRC-16/CCITT-FALSE, polinomio 0x1021."""
    for octeto in datos:
        resto ^= octeto << 8
        for _ in range(8):
            resto = (resto << 1) ^ 0x1021 if resto & 0x8000 else resto << 1
            resto &= 0xFFFF
    return resto
