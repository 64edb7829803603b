"""Cliente de la pasarela de pago Monedero."""

import hashlib
import time

from comun.errores import PasarelaNoResponde

TIEMPO_MAXIMO = 8.0
FALLOS_PARA_CORTAR = 5
SEGUNDOS_CORTADO = 60.0


class Cortacircuitos:
    """Tras cinco fallos seguidos deja de llamar durante un minuto y falla al instante."""

    def __init__(self, reloj=time.monotonic):
        self._reloj = reloj
        self._fallos = 0
        self._abierto_hasta = 0.0

    def permite(self) -> bool:
        return self._reloj() >= self._abierto_hasta

    def anotar(self, correcto: bool) -> None:
        self._fallos = 0 if correcto else self._fallos + 1
        if self._fallos >= FALLOS_PARA_CORTAR:
            self._abierto_hasta = self._reloj() + SEGUNDOS_CORTADO
            self._fallos = 0


def clave_de_cobro(numero_factura: str, intento_manual: int = 0) -> str:
    """La misma factura da siempre la misma clave: así la pasarela no cobra dos veces."""
    return hashlib.sha256(f"{numero_factura}:{intento_manual}".encode()).hexdigest()[:32]


class Pasarela:
    def __init__(self, http, cortacircuitos: Cortacircuitos):
        self._http = http
        self._cortacircuitos = cortacircuitos

    def cobrar(self, numero_factura: str, centimos: int, tarjeta: str) -> str:
        if not self._cortacircuitos.permite():
            raise PasarelaNoResponde("E-5041")
        try:
            respuesta = self._http.post(
                "/cobros",
                json={"importe": centimos, "tarjeta": tarjeta},
                headers={"Idempotency-Key": clave_de_cobro(numero_factura)},
                timeout=TIEMPO_MAXIMO,
            )
        except TimeoutError as error:
            self._cortacircuitos.anotar(correcto=False)
            raise PasarelaNoResponde("E-5041") from error
        self._cortacircuitos.anotar(correcto=True)
        return respuesta["id"]
