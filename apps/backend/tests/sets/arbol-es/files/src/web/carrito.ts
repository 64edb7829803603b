// Carrito de la tienda de embalajes: importes en céntimos.

export interface LineaCarrito {
  sku: string;
  nombre: string;
  unidades: number;
  precioCentimos: number;
}

export interface Cupon {
  codigo: string;
  porcentaje: number;
  caduca: Date;
}

const ENVIO_GRATIS_DESDE = 4900;
const GASTOS_DE_ENVIO = 450;
const MAX_UNIDADES = 99;

export function subtotal(lineas: LineaCarrito[]): number {
  return lineas.reduce((suma, linea) => suma + linea.unidades * linea.precioCentimos, 0);
}

/** El descuento se aplica antes de los gastos de envío y nunca baja de cero. */
export function aplicarCupon(importe: number, cupon: Cupon | null, hoy: Date): number {
  if (!cupon || cupon.caduca < hoy) return importe;
  return Math.max(0, importe - Math.round((importe * cupon.porcentaje) / 100));
}

export function gastosDeEnvio(importe: number): number {
  return importe >= ENVIO_GRATIS_DESDE || importe === 0 ? 0 : GASTOS_DE_ENVIO;
}

export function total(lineas: LineaCarrito[], cupon: Cupon | null, hoy: Date): number {
  const conDescuento = aplicarCupon(subtotal(lineas), cupon, hoy);
  return conDescuento + gastosDeEnvio(conDescuento);
}

export function anadir(lineas: LineaCarrito[], nueva: LineaCarrito): LineaCarrito[] {
  const existe = lineas.find((linea) => linea.sku === nueva.sku);
  if (!existe) return [...lineas, nueva];
  const unidades = Math.min(MAX_UNIDADES, existe.unidades + nueva.unidades);
  return lineas.map((linea) => (linea.sku === nueva.sku ? { ...linea, unidades } : linea));
}
