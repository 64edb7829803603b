"""Lee la configuración: archivo YAML, después el entorno, y los secretos del cofre."""

import os
from pathlib import Path

import yaml

PREFIJO = "RIBERA_"
SECRETOS = ("bd.clave", "pasarela.clave", "sms.clave", "avisos.secreto")


class ConfiguracionIncompleta(Exception):
    pass


def cargar(ruta: Path, entorno=os.environ, cofre=None) -> dict[str, object]:
    """El entorno gana al archivo: RIBERA_BD__SERVIDOR sustituye a bd.servidor."""
    valores = aplanar(yaml.safe_load(ruta.read_text(encoding="utf-8")) or {})
    for nombre, valor in entorno.items():
        if nombre.startswith(PREFIJO):
            valores[nombre.removeprefix(PREFIJO).lower().replace("__", ".")] = valor
    for secreto in SECRETOS:
        if secreto in valores:
            raise ConfiguracionIncompleta(f"{secreto} no puede estar en un archivo ni en el entorno")
        if cofre is not None:
            valores[secreto] = cofre.leer(secreto)
    return valores


def aplanar(arbol: dict, prefijo: str = "") -> dict[str, object]:
    plano: dict[str, object] = {}
    for clave, valor in arbol.items():
        nombre = f"{prefijo}{clave}"
        if isinstance(valor, dict):
            plano.update(aplanar(valor, nombre + "."))
        else:
            plano[nombre] = valor
    return plano
