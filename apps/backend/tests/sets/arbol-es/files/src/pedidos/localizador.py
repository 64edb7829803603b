"""El localizador de nueve caracteres que ve el destinatario."""

import secrets

ALFABETO = "BCDFGHJKLMNPQRSTVWXZ23456789"
"""Sin vocales, para que no forme palabras, y sin 0 ni 1, que se confunden al dictarlos."""

LONGITUD = 9
LONGITUD_ANTIGUA = 8


def nuevo_localizador(existe, azar=secrets.choice) -> str:
    """Genera uno libre. El último carácter es de control."""
    while True:
        cuerpo = "".join(azar(ALFABETO) for _ in range(LONGITUD - 1))
        candidato = cuerpo + caracter_de_control(cuerpo)
        if not existe(candidato):
            return candidato


def caracter_de_control(cuerpo: str) -> str:
    """Suma ponderada módulo 28: detecta un carácter cambiado y dos vecinos intercambiados."""
    suma = sum((posicion + 2) * ALFABETO.index(letra) for posicion, letra in enumerate(cuerpo))
    return ALFABETO[suma % len(ALFABETO)]


def es_valido(texto: str) -> bool:
    limpio = normalizar(texto)
    if len(limpio) == LONGITUD_ANTIGUA:
        return True
    if len(limpio) != LONGITUD or any(letra not in ALFABETO for letra in limpio):
        return False
    return caracter_de_control(limpio[:-1]) == limpio[-1]


def normalizar(texto: str) -> str:
    """Quita espacios y guiones y pasa a mayúsculas, como lo escribe la gente por teléfono."""
    return "".join(texto.split()).replace("-", "").upper()
