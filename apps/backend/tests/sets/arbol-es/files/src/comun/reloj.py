"""La única puerta por la que el código pregunta la hora."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

HACIENDA = ZoneInfo("Europe/Madrid")


def ahora() -> datetime:
    return datetime.now(UTC)


class Reloj:
    def ahora(self) -> datetime:
        return ahora()


class RelojFijo(Reloj):
    """Para las pruebas: no se mueve hasta que se le dice."""

    def __init__(self, instante: datetime):
        if instante.tzinfo is None:
            raise ValueError("el instante necesita huso")
        self._instante = instante

    def ahora(self) -> datetime:
        return self._instante

    def adelantar(self, cuanto: timedelta) -> None:
        self._instante += cuanto


def fecha_de_factura(instante: datetime) -> date:
    """El día natural en la península, que es el que cuenta para la administración tributaria."""
    return instante.astimezone(HACIENDA).date()


def en_hora_del_comercio(instante: datetime, huso: str) -> datetime:
    return instante.astimezone(ZoneInfo(huso))


def dias_laborables(desde: date, cuantos: int, festivos: frozenset[date] = frozenset()) -> date:
    """Suma días saltando domingos y festivos; el sábado cuenta, porque se reparte."""
    dia = desde
    while cuantos:
        dia += timedelta(days=1)
        if dia.weekday() != 6 and dia not in festivos:
            cuantos -= 1
    return dia
