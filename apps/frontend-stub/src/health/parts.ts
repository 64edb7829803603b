import { reasonText } from "../common/reasons";
import { sourceName } from "../common/sources";
import { messages } from "../i18n/messages";
import { language } from "../state/preferences";
import type { SourceState } from "./status";

const names = messages({
  es: {
    database: "Base de datos",
    dense: "Pasajes, por significado",
    full_text: "Pasajes, por texto",
    "artifacts.dense": "Documentos enteros, por significado",
    "artifacts.full_text": "Documentos enteros, por texto",
    "memory.dense": "Recuerdos, por significado",
    "memory.full_text": "Recuerdos, por texto",
    "history.dense": "Conversaciones, por significado",
    "history.full_text": "Conversaciones, por texto",
    graph: "Hechos del grafo",
    structure: "Símbolos, títulos y cláusulas, por su nombre",
    grep: "Archivos",
    rerank: "Reordenación de resultados",
    answerer: "Respuestas",
  },
  en: {
    database: "Database",
    dense: "Passages, by meaning",
    full_text: "Passages, by text",
    "artifacts.dense": "Whole documents, by meaning",
    "artifacts.full_text": "Whole documents, by text",
    "memory.dense": "Memories, by meaning",
    "memory.full_text": "Memories, by text",
    "history.dense": "Conversations, by meaning",
    "history.full_text": "Conversations, by text",
    graph: "Facts of the graph",
    structure: "Symbols, headings and clauses, by name",
    grep: "Files",
    rerank: "Reranking of results",
    answerer: "Answers",
  },
});

/** Return what a part of the service is for, in plain words; of one that is not known, the name of its source. */
export function partName(source: string): string {
  const known = names();
  return Object.hasOwn(known, source) ? known[source as keyof typeof known] : sourceName(source);
}

/** What is told of a part: in the reader's language, or in the service's own English words. */
export type Words = { text: string; lang?: "en" };

/** Return why a part does not do all its work. */
export function reasonOf({ reason, says }: SourceState): Words | null {
  if (reason === null) return null;
  const known = reasonText(reason, "");
  if (known !== "") return { text: known };
  return says === null ? { text: reason } : { text: says, lang: "en" };
}

/** Remedies in Spanish, by the reason, else by the part and its state. In English the service's own are shown. */
const REMEDIES = {
  vectors_pending:
    "Espera: el servicio los hace en segundo plano. Mientras tanto, esos textos se encuentran por sus palabras.",
  statistics_stale: "Busca algo: el recuento se pone al día en segundo plano.",
  circuit_open: "Se vuelve a probar sola. Si dura, el registro del servicio y «ragcorp doctor» dicen más.",
  circuit_half_open: "Busca algo y vuelve a mirar.",
  "scope:tools": "Usa una clave con el permiso «tools».",
  no_embedder: "Pon local u openai en EMBEDDING_PROVIDER.",
  schema: "Ejecuta «ragcorp migrate».",
  invalid_index: "Ejecuta «ragcorp migrate»: los rehace.",
  vector_width: "Pon en EMBEDDING_MODEL y EMBEDDING_DIM los guardados, o ejecuta «ragcorp reembed»; después, reinicia.",
  text_search: "Instala los diccionarios snowball del servidor; van con cualquier PostgreSQL normal.",
} as const;

const REMEDIES_OF_PARTS = {
  "database out": "«ragcorp doctor» dice más.",
  "database degraded": "Vuelve a mirar en un momento; si dura, «ragcorp doctor» dice más.",
  "grep off": "Indica las carpetas en ALLOWED_PATHS.",
  "rerank off": "Define RERANK_PROVIDER y RERANK_URL.",
  "rerank degraded":
    "Revisa su dirección, su clave y su modelo («ragcorp doctor»); mientras falle, los resultados quedan sin reordenar.",
  "dense degraded":
    "Revisa la dirección, la clave y el nombre del modelo de los vectores («ragcorp doctor»); mientras falle, se busca por texto.",
  "answerer degraded":
    "Revisa su dirección, su clave y su modelo («ragcorp doctor»); mientras falle, no hay respuestas.",
} as const;

/** Return what can be done about a part. */
export function remedyOf({ source, state, reason, remedy }: SourceState): Words | null {
  if (remedy === null) return null;
  const english = remedy.replace(/`([^`]*)`/g, "“$1”");
  if (language.value === "en") return { text: english };
  if (reason !== null && Object.hasOwn(REMEDIES, reason)) return { text: REMEDIES[reason as keyof typeof REMEDIES] };
  const part = source.endsWith("dense") ? `dense ${state}` : `${source} ${state}`;
  if (!Object.hasOwn(REMEDIES_OF_PARTS, part)) return { text: english, lang: "en" };
  return { text: REMEDIES_OF_PARTS[part as keyof typeof REMEDIES_OF_PARTS] };
}

/** Say whether a part is out for no other reason than that the database is: what to do is told once, with that. */
export function lacksDatabase(part: SourceState, sources: readonly SourceState[]): boolean {
  const database = sources.find(({ source }) => source === "database");
  return database?.state === "out" && part.source !== "database" && part.state === "out";
}
