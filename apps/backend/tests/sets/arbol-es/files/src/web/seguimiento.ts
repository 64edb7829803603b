// Página de seguimiento que ve el destinatario.

import { pedirJson } from "./clienteApi";
import { horaLocal } from "./fechas";

export type Paso = "creado" | "recogido" | "en_nave" | "en_reparto" | "en_taquilla" | "entregado" | "devuelto";

export interface Seguimiento {
  localizador: string;
  pasos: { paso: Paso; instante: string }[];
  plazo: string | null;
}

const TEXTOS: Record<Paso, string> = {
  creado: "La tienda prepara tu paquete",
  recogido: "Lo hemos recogido",
  en_nave: "Está en nuestra nave",
  en_reparto: "Va en la furgoneta",
  en_taquilla: "Te espera en la taquilla",
  entregado: "Entregado",
  devuelto: "Ha vuelto a la tienda",
};

const REFRESCO_MS = 30_000;

export async function cargar(localizador: string): Promise<Seguimiento> {
  return pedirJson<Seguimiento>(`/envios/${encodeURIComponent(localizador)}`);
}

export function describir(seguimiento: Seguimiento, huso: string): string[] {
  return seguimiento.pasos.map(({ paso, instante }) => `${horaLocal(instante, huso)} ${TEXTOS[paso]}`);
}

/** Deja de preguntar cuando el envío ha terminado o la pestaña está oculta. */
export function vigilar(localizador: string, alCambiar: (s: Seguimiento) => void): () => void {
  let ultimo = 0;
  const reloj = window.setInterval(async () => {
    if (document.hidden) return;
    const seguimiento = await cargar(localizador);
    if (seguimiento.pasos.length !== ultimo) {
      ultimo = seguimiento.pasos.length;
      alCambiar(seguimiento);
    }
    const final = seguimiento.pasos.at(-1)?.paso;
    if (final === "entregado" || final === "devuelto") window.clearInterval(reloj);
  }, REFRESCO_MS);
  return () => window.clearInterval(reloj);
}
