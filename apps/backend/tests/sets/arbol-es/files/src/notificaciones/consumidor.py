"""Atiende la cola de avisos."""

import logging

from comun.errores import ProveedorCaido
from notificaciones.plantillas import componer

registro = logging.getLogger(__name__)

REINTENTOS_MAXIMOS = 5
COLA = "pedidos.cambio_estado.notificaciones"


class Consumidor:
    """Confirma cada mensaje después de enviarlo; el que falla cinco veces va a descartes."""

    def __init__(self, canal, proveedores, preferencias, claves_vistas):
        self._canal = canal
        self._proveedores = proveedores
        self._preferencias = preferencias
        self._claves_vistas = claves_vistas

    def atender(self, mensaje) -> None:
        if not self._claves_vistas.es_nueva(mensaje.id):
            self._canal.confirmar(mensaje)
            return
        try:
            self._enviar(mensaje)
        except ProveedorCaido:
            self._canal.devolver(mensaje)
        except Exception:
            registro.exception("mensaje rechazado", extra={"mensaje": mensaje.id})
            if mensaje.entregas >= REINTENTOS_MAXIMOS:
                self._canal.publicar(f"{COLA}.descartes", mensaje)
                self._canal.confirmar(mensaje)
            else:
                self._canal.devolver(mensaje)
        else:
            self._canal.confirmar(mensaje)

    def _enviar(self, mensaje) -> None:
        """Primero la aplicación, que es gratis; si no la tiene, SMS; el correo solo si lo pidió."""
        texto = componer(mensaje.plantilla, **mensaje.valores)
        for via in self._preferencias.vias(mensaje.destinatario_id):
            if self._proveedores[via].enviar(mensaje.destino(via), texto):
                return
        raise ProveedorCaido(mensaje.id)
