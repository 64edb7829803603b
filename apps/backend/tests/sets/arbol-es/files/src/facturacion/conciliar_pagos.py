"""Compara lo cobrado según la pasarela con lo que consta en nuestras facturas."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TOLERANCIA_CENTIMOS = 100


@dataclass(frozen=True)
class Diferencia:
    numero: str
    esperado: int
    recibido: int

    @property
    def importe(self) -> int:
        return self.recibido - self.esperado


def leer_extracto(ruta: Path) -> dict[str, int]:
    """El extracto trae comas decimales y puntos de millar."""
    with ruta.open(encoding="latin-1", newline="") as archivo:
        filas = csv.DictReader(archivo, delimiter=";")
        return {fila["referencia"]: a_centimos(fila["importe"]) for fila in filas if fila["estado"] == "LIQUIDADO"}


def a_centimos(texto: str) -> int:
    entero, _, decimales = texto.replace(".", "").partition(",")
    return int(entero) * 100 + int(decimales.ljust(2, "0")[:2] or 0)


def comparar(extracto: dict[str, int], facturas: Iterable[tuple[str, int]]) -> Iterator[Diferencia]:
    vistas = set()
    for numero, esperado in facturas:
        vistas.add(numero)
        recibido = extracto.get(numero, 0)
        if abs(recibido - esperado) > TOLERANCIA_CENTIMOS:
            yield Diferencia(numero, esperado, recibido)
    for numero in sorted(extracto.keys() - vistas):
        yield Diferencia(numero, 0, extracto[numero])


def resumen(diferencias: list[Diferencia]) -> str:
    if not diferencias:
        return "Todo cuadra."
    lineas = [f"{d.numero}: esperado {d.esperado / 100:.2f}, recibido {d.recibido / 100:.2f}" for d in diferencias]
    return "\n".join(lineas)
