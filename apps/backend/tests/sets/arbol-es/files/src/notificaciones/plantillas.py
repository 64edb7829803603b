"""Textos que reciben los destinatarios."""

import unicodedata
from string import Template

GSM7 = set("@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà")
LONGITUD_SMS = 160

PLANTILLAS = {
    "en_taquilla": Template("Ribera: $nombre, tu paquete te espera en $armario. Codigo $codigo. Tienes hasta el $plazo."),
    "recordatorio": Template("Ribera: $nombre, recoge tu paquete en $armario antes del $plazo o volvera a la tienda."),
    "en_reparto": Template("Ribera: hoy llega tu paquete entre las $desde y las $hasta. Codigo de entrega $codigo."),
    "devuelto": Template("Ribera: no se recogio tu paquete $localizador y vuelve a la tienda."),
}


def componer(nombre_plantilla: str, **valores: str) -> str:
    """Rellena la plantilla y la deja en caracteres que caben en un único SMS."""
    limpios = {clave: sin_control(valor) for clave, valor in valores.items()}
    return recortar(a_gsm7(PLANTILLAS[nombre_plantilla].substitute(limpios)))


def sin_control(texto: str) -> str:
    """Quita los caracteres de control: uno nulo detuvo la cola seis horas (INC-2057)."""
    return "".join(letra for letra in texto if unicodedata.category(letra) != "Cc").strip()


def a_gsm7(texto: str) -> str:
    """Cambia las letras que obligarían a mandar el mensaje en dos partes: á por a, pero ñ se queda."""
    salida = []
    for letra in texto:
        if letra in GSM7:
            salida.append(letra)
            continue
        base = unicodedata.normalize("NFD", letra)[0]
        salida.append(base if base in GSM7 else "?")
    return "".join(salida)


def recortar(texto: str) -> str:
    return texto if len(texto) <= LONGITUD_SMS else texto[: LONGITUD_SMS - 1] + "."
