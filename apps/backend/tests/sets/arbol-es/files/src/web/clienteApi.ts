// Cliente de la API con reintentos y clave de idempotencia.

export class ErrorDeApi extends Error {
  constructor(
    readonly estado: number,
    readonly codigo: string,
    mensaje: string,
  ) {
    super(mensaje);
  }
}

const BASE = "https://api.ribera.example/v2";
const INTENTOS = 3;
const REINTENTABLES = new Set([425, 429, 502, 503, 504]);

function esperar(ms: number): Promise<void> {
  return new Promise((resolver) => setTimeout(resolver, ms));
}

/** Espera exponencial con una parte al azar, para que no vuelvan todos a la vez. */
export function espera(intento: number, azar = Math.random): number {
  return 200 * 2 ** intento * (0.5 + azar() / 2);
}

export async function pedirJson<T>(ruta: string, opciones: RequestInit = {}): Promise<T> {
  const cabeceras = new Headers(opciones.headers);
  if (opciones.method === "POST" && !cabeceras.has("Idempotency-Key")) {
    cabeceras.set("Idempotency-Key", crypto.randomUUID());
  }
  for (let intento = 0; ; intento++) {
    const respuesta = await fetch(BASE + ruta, { ...opciones, headers: cabeceras });
    if (respuesta.ok) return (await respuesta.json()) as T;
    if (REINTENTABLES.has(respuesta.status) && intento + 1 < INTENTOS) {
      const pedido = Number(respuesta.headers.get("Retry-After")) * 1000;
      await esperar(pedido || espera(intento));
      continue;
    }
    const problema = await respuesta.json().catch(() => ({}));
    throw new ErrorDeApi(respuesta.status, problema.codigo ?? "E-5001", problema.detalle ?? "Fallo desconocido");
  }
}
