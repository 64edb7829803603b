"""Emite las facturas del mes de cada comercio."""

import logging
from datetime import date

from comun.errores import CambioDeTipoSospechoso
from facturacion.impuestos import LineaImponible, calcular_total
from facturacion.numeracion import SERIE_NORMAL, Numerador

registro = logging.getLogger(__name__)

DIA_DE_EMISION = 1
VENCIMIENTO_DIAS = 30
MINIMO_FACTURABLE_CENTIMOS = 500


def emitir_mes(repositorio, conexion, mes: date) -> list[str]:
    """Emite lo que haya por encima del mínimo; lo demás pasa al mes siguiente. Devuelve los números."""
    numerador = Numerador(conexion)
    emitidas = []
    for comercio in repositorio.comercios_con_envios(mes):
        lineas = [linea_de(envio, comercio) for envio in repositorio.envios_facturables(comercio.id, mes)]
        if sum(linea.base_centimos for linea in lineas) < MINIMO_FACTURABLE_CENTIMOS:
            registro.info("comercio por debajo del mínimo, se acumula", extra={"comercio": comercio.id})
            continue
        comprobar_tipo(repositorio, comercio, lineas)
        numero = numerador.siguiente(SERIE_NORMAL, mes.year)
        repositorio.guardar_factura(numero, comercio.id, mes, calcular_total(lineas), VENCIMIENTO_DIAS)
        emitidas.append(numero)
    return emitidas


def linea_de(envio, comercio) -> LineaImponible:
    """El territorio está en la ficha fiscal y no se deduce del código postal (INC-2091)."""
    return LineaImponible(envio.descripcion, envio.importe_centimos, comercio.territorio_fiscal)


def comprobar_tipo(repositorio, comercio, lineas) -> None:
    """Se detiene si el comercio tributa de otra manera que el mes pasado."""
    anterior = repositorio.territorio_del_mes_anterior(comercio.id)
    if anterior and any(linea.territorio != anterior for linea in lineas):
        raise CambioDeTipoSospechoso(comercio.id)
