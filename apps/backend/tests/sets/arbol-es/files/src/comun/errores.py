"""Errores de dominio, con el código que ve el comercio."""


class ErrorDeRibera(Exception):
    """Base de todos. ``codigo`` es el de `docs/manuales/codigos_de_error.md`."""

    estado_http = 500
    codigo = "E-5001"

    def __init__(self, *detalles):
        super().__init__(self.codigo, *detalles)


class ClaveRepetida(ErrorDeRibera):
    estado_http = 409
    codigo = "E-4090"


class EnCurso(ErrorDeRibera):
    estado_http = 425
    codigo = "E-4251"


class ComercioSuspendido(ErrorDeRibera):
    estado_http = 403
    codigo = "E-4031"


class SinServicio(ErrorDeRibera):
    estado_http = 422
    codigo = "E-4221"


class BultoExcesivo(ErrorDeRibera):
    estado_http = 422
    codigo = "E-4223"


class TelefonoNoValido(ErrorDeRibera):
    estado_http = 422
    codigo = "E-4227"


class ArmarioLleno(ErrorDeRibera):
    estado_http = 409
    codigo = "E-4701"


class CodigoCaducado(ErrorDeRibera):
    estado_http = 410
    codigo = "E-4705"


class PasarelaNoResponde(ErrorDeRibera):
    estado_http = 504
    codigo = "E-5041"


class TransicionNoPermitida(ErrorDeRibera):
    estado_http = 409
    codigo = "E-4093"


class TerritorioDesconocido(ErrorDeRibera):
    pass


class SerieCerrada(ErrorDeRibera):
    pass
