"""El código con que el destinatario abre su puerta."""

import hmac
import secrets
from datetime import datetime, timedelta

from comun.errores import CodigoCaducado, DemasiadosIntentos

CIFRAS = 6
INTENTOS_MAXIMOS = 5
BLOQUEO = timedelta(minutes=10)
PLAZO_RECOGIDA = timedelta(days=3)
AMPLIACION = timedelta(days=2)


def nuevo_codigo() -> str:
    """Seis cifras; se descartan las repetidas y las escaleras, que la gente prueba primero."""
    while True:
        codigo = f"{secrets.randbelow(10**CIFRAS):0{CIFRAS}d}"
        if len(set(codigo)) > 2 and codigo not in ("123456", "654321", "012345"):
            return codigo


class Verificador:
    """Cuenta los fallos por armario, no por paquete: así no se puede probar un código en cada puerta."""

    def __init__(self, reloj):
        self._reloj = reloj
        self._fallos: dict[str, list[datetime]] = {}

    def comprobar(self, armario: str, escrito: str, guardado: str, caduca_en: datetime) -> None:
        ahora = self._reloj.ahora()
        recientes = [fallo for fallo in self._fallos.get(armario, []) if ahora - fallo < BLOQUEO]
        if len(recientes) >= INTENTOS_MAXIMOS:
            raise DemasiadosIntentos(armario)
        if ahora >= caduca_en:
            raise CodigoCaducado("E-4705")
        if not hmac.compare_digest(escrito, guardado):
            self._fallos[armario] = [*recientes, ahora]
            raise ValueError("código incorrecto")
        self._fallos.pop(armario, None)
