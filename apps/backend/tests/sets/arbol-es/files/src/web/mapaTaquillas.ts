// Mapa con los armarios cercanos y los huecos que les quedan.

import { pedirJson } from "./clienteApi";

export interface Armario {
  codigo: string;
  nombre: string;
  latitud: number;
  longitud: number;
  libres: Record<"S" | "M" | "L" | "XL", number>;
  accesible: boolean;
  abierto24h: boolean;
}

export interface Filtros {
  tamano: "S" | "M" | "L" | "XL";
  soloAccesibles: boolean;
  soloNoche: boolean;
}

const RADIO_METROS = 1500;

export async function cercanos(latitud: number, longitud: number): Promise<Armario[]> {
  return pedirJson<Armario[]>(`/armarios?lat=${latitud}&lon=${longitud}&radio=${RADIO_METROS}`);
}

export function filtrar(armarios: Armario[], filtros: Filtros): Armario[] {
  return armarios.filter(
    (armario) =>
      armario.libres[filtros.tamano] > 0 &&
      (!filtros.soloAccesibles || armario.accesible) &&
      (!filtros.soloNoche || armario.abierto24h),
  );
}

/** Verde, ámbar o gris según lo lleno que está. El color nunca es la única pista: también cambia el icono. */
export function aspecto(armario: Armario): { color: string; icono: string } {
  const libres = Object.values(armario.libres).reduce((suma, cuantos) => suma + cuantos, 0);
  if (libres === 0) return { color: "#8a8a8a", icono: "candado" };
  if (libres < 5) return { color: "#c77700", icono: "media-puerta" };
  return { color: "#1d7a3e", icono: "puerta-abierta" };
}
