"""Ordena las paradas de una furgoneta."""

import math
from dataclasses import dataclass

VELOCIDAD_KMH = 24.0
SEGUNDOS_POR_PARADA = 150
AUTONOMIA_KM = 170
RADIO_TIERRA_KM = 6371.0


@dataclass(frozen=True)
class Parada:
    id: str
    latitud: float
    longitud: float
    cierra_minuto: int = 24 * 60


def distancia_km(una: Parada, otra: Parada) -> float:
    """Fórmula del semiverseno."""
    fi1, fi2 = math.radians(una.latitud), math.radians(otra.latitud)
    d_fi, d_lambda = fi2 - fi1, math.radians(otra.longitud - una.longitud)
    a = math.sin(d_fi / 2) ** 2 + math.cos(fi1) * math.cos(fi2) * math.sin(d_lambda / 2) ** 2
    return 2 * RADIO_TIERRA_KM * math.asin(math.sqrt(a))


def vecino_mas_cercano(salida: Parada, paradas: list[Parada]) -> list[Parada]:
    """Un comienzo barato; las que cierran antes de una hora van primero."""
    pendientes, ruta, actual = list(paradas), [], salida
    while pendientes:
        actual = min(pendientes, key=lambda p: (p.cierra_minuto > 60, distancia_km(actual, p), p.id))
        pendientes.remove(actual)
        ruta.append(actual)
    return ruta


def dos_opt(salida: Parada, ruta: list[Parada]) -> list[Parada]:
    """Deshace cruces: invierte tramos mientras se acorte el recorrido."""
    mejor, cambio = [salida, *ruta], True
    while cambio:
        cambio = False
        for i in range(1, len(mejor) - 2):
            for j in range(i + 1, len(mejor) - 1):
                antes = distancia_km(mejor[i - 1], mejor[i]) + distancia_km(mejor[j], mejor[j + 1])
                despues = distancia_km(mejor[i - 1], mejor[j]) + distancia_km(mejor[i], mejor[j + 1])
                if despues < antes - 1e-9:
                    mejor[i : j + 1] = reversed(mejor[i : j + 1])
                    cambio = True
    return mejor[1:]
