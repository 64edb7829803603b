// Fechas e importes tal como se enseñan en pantalla.

const CACHE = new Map<string, Intl.DateTimeFormat>();

function formato(huso: string): Intl.DateTimeFormat {
  let conocido = CACHE.get(huso);
  if (!conocido) {
    conocido = new Intl.DateTimeFormat("es-ES", {
      timeZone: huso,
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
    });
    CACHE.set(huso, conocido);
  }
  return conocido;
}

export function horaLocal(instante: string, huso: string): string {
  return formato(huso).format(new Date(instante));
}

export function euros(centimos: number): string {
  return new Intl.NumberFormat("es-ES", { style: "currency", currency: "EUR" }).format(centimos / 100);
}

/** "hace 5 minutos", "ayer": para la lista de envíos. */
export function haceCuanto(instante: string, ahora: Date): string {
  const segundos = Math.round((new Date(instante).getTime() - ahora.getTime()) / 1000);
  const relativo = new Intl.RelativeTimeFormat("es", { numeric: "auto" });
  const escalas: [Intl.RelativeTimeFormatUnit, number][] = [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
  ];
  for (const [unidad, tamano] of escalas) {
    if (Math.abs(segundos) >= tamano) return relativo.format(Math.trunc(segundos / tamano), unidad);
  }
  return "ahora mismo";
}
