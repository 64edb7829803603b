"""Caso de uso: un comercio crea un envío."""

from dataclasses import dataclass

from comun.errores import BultoExcesivo, ComercioSuspendido, SinServicio
from pedidos.estados import Estado
from pedidos.localizador import nuevo_localizador
from tarifas.precio import precio_de

MAX_BULTOS = 50
MAX_PESO_GRAMOS = 30_000
MAX_LADO_CM = 120


@dataclass(frozen=True)
class Bulto:
    peso_gramos: int
    largo_cm: int
    ancho_cm: int
    alto_cm: int

    @property
    def lado_mayor(self) -> int:
        return max(self.largo_cm, self.ancho_cm, self.alto_cm)


class CrearEnvio:
    def __init__(self, envios, comercios, zonas, eventos, reloj):
        self._envios = envios
        self._comercios = comercios
        self._zonas = zonas
        self._eventos = eventos
        self._reloj = reloj

    def ejecutar(self, peticion, comercio_id: str):
        comercio = self._comercios.obtener(comercio_id)
        if comercio.suspendido:
            raise ComercioSuspendido("E-4031")
        zona = self._zonas.de(peticion.codigo_postal)
        if zona is None:
            raise SinServicio("E-4221")
        for bulto in peticion.bultos:
            if bulto.peso_gramos > MAX_PESO_GRAMOS or bulto.lado_mayor > MAX_LADO_CM:
                raise BultoExcesivo("E-4223")
        importe = sum(precio_de(bulto, zona, peticion.servicio, comercio.tarifa) for bulto in peticion.bultos)
        envio = self._envios.guardar(
            localizador=nuevo_localizador(self._envios.existe),
            comercio_id=comercio_id,
            estado=Estado.CREADO,
            importe_centimos=importe,
            creado_en=self._reloj.ahora(),
        )
        self._eventos.publicar("pedidos.creado", envio.id)
        return envio
