"""Proveedores de SMS y cómo se reparte el tráfico entre ellos."""

import re
from dataclasses import dataclass

from comun.errores import ProveedorCaido, TelefonoNoValido

TELEFONO = re.compile(r"\+[1-9]\d{7,14}")
REMITENTE_ALFANUMERICO = "RIBERA"


@dataclass(frozen=True)
class Coste:
    proveedor: str
    milesimas: int


COSTES = (Coste("voltio", 42), Coste("telgram", 59))


def normalizar_telefono(texto: str, prefijo: str = "+34") -> str:
    """Deja el teléfono en formato E.164. Lanza TelefonoNoValido (E-4227)."""
    limpio = re.sub(r"[\s().-]", "", texto)
    if limpio.startswith("00"):
        limpio = "+" + limpio[2:]
    if not limpio.startswith("+"):
        limpio = prefijo + limpio
    if not TELEFONO.fullmatch(limpio):
        raise TelefonoNoValido("E-4227")
    return limpio


class ClienteVoltio:
    def __init__(self, http, banderas):
        self._http = http
        self._banderas = banderas

    def enviar(self, telefono: str, texto: str) -> bool:
        remitente = self._remitente()
        respuesta = self._http.post("/sms", json={"a": telefono, "de": remitente, "texto": texto})
        if respuesta.status == 429:
            raise ProveedorCaido("throttled")
        return respuesta.status == 202

    def _remitente(self) -> str:
        """Con la bandera encendida se usa el número largo: el nombre puede estar bloqueado (INC-2063)."""
        if self._banderas.encendida("sms.remitente_numerico"):
            return "+34910000000"
        return REMITENTE_ALFANUMERICO
