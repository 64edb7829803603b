// Comprobación de NIF, NIE y CIF en el formulario de alta de comercios.

const LETRAS = "TRWAGMYFPDXBNJZSQVHLCKE";
const CONTROL_CIF = "JABCDEFGHI";
const CON_LETRA = new Set(["K", "N", "P", "Q", "R", "S", "W"]);

export function limpiar(texto: string): string {
  return texto.replace(/[\s.-]/g, "").toUpperCase();
}

export function esNif(texto: string): boolean {
  const limpio = limpiar(texto);
  const partes = /^([XYZ]?)(\d{7,8})([A-Z])$/.exec(limpio);
  if (!partes) return false;
  const [, inicial, cifras, letra] = partes;
  const numero = Number(("XYZ".indexOf(inicial || "X") || "") + cifras);
  return LETRAS[numero % 23] === letra;
}

/** Suma de Luhn de las cifras impares, más las pares. */
export function esCif(texto: string): boolean {
  const partes = /^([ABCDEFGHJKLMNPQRSUVW])(\d{7})([0-9A-J])$/.exec(limpiar(texto));
  if (!partes) return false;
  const [, clase, cifras, control] = partes;
  let suma = 0;
  for (const [posicion, cifra] of [...cifras].entries()) {
    const doble = Number(cifra) * (posicion % 2 === 0 ? 2 : 1);
    suma += Math.floor(doble / 10) + (doble % 10);
  }
  const resto = (10 - (suma % 10)) % 10;
  return CON_LETRA.has(clase) ? control === CONTROL_CIF[resto] : control === String(resto) || control === CONTROL_CIF[resto];
}

export function mensaje(texto: string): string | null {
  if (esNif(texto) || esCif(texto)) return null;
  return /O/.test(limpiar(texto).slice(0, -1))
    ? "La letra del NIF no corresponde. ¿Has escrito una letra O en lugar de un cero?"
    : "La letra del NIF no corresponde.";
}
