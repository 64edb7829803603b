import { language } from "../state/preferences";
import type { Words } from "./parts";
import type { Status } from "./status";

/** What the settings do, in Spanish; the service describes them in English. */
const SPANISH: Readonly<Record<string, string>> = {
  ENABLE_HYBRID_SEARCH: "Busca por significado y por texto y une las dos listas (modo automático).",
  HYBRID_SHADOW: "El modo automático responde con el perfil antiguo y prueba el nuevo a su lado, sin mostrarlo.",
  HYBRID_ROLLOUT_PERCENT: "Parte del modo automático que usa el perfil nuevo.",
  FUSION_METHOD: "Cómo se unen las listas: rrf o linear.",
  RRF_K: "Constante k de Reciprocal Rank Fusion.",
  RANK_WINDOW_SIZE: "Resultados que cada fuente entrega para unirlos.",
  SPARSE_RANKING: "Orden de la búsqueda por texto: bm25 o ts_rank_cd.",
  SPARSE_OPERATOR: "Cómo une ts_rank_cd las palabras de la consulta: and u or.",
  SPARSE_BUDGET: "Apariciones de palabras que BM25 lee como mucho por consulta.",
  HNSW_EF_SEARCH: "Tamaño de la lista de candidatos de HNSW.",
  HNSW_MAX_SCAN_TUPLES: "Filas que un recorrido iterativo de HNSW visita como mucho.",
  SOURCE_TIMEOUT_SECONDS: "Tiempo límite de cada fuente.",
  SEARCH_TIMEOUT_SECONDS: "Tiempo límite de una búsqueda completa.",
  CIRCUIT_BREAKER_FAILURES: "Fallos seguidos tras los que una fuente se deja de lado un rato; 0: nunca.",
  CIRCUIT_BREAKER_COOLDOWN_SECONDS: "Cuánto tiempo se deja de lado una fuente antes de volver a probarla.",
  OVERFETCH_MULTIPLIER: "Resultados que da cada fuente en el perfil collections, en cuartos de la ventana.",
  TEMPORAL_DECAY_HALF_LIFE_DAYS: "Antigüedad con la que un pasaje vale la mitad en el perfil memory.",
  EVERGREEN_FLOOR: "Mínimo que conservan personas, lugares y relaciones, por antiguos que sean.",
  MMR_LAMBDA: "Peso de la relevancia frente a la variedad en el perfil memory; 1: solo relevancia.",
  MMR_CANDIDATE_POOL_SIZE: "Pasajes que MMR reordena.",
  GRAPH_SIMILARITY_THRESHOLD: "Coseno desde el que una entidad que la consulta no nombra aporta sus hechos.",
  DEFAULT_LOOKBACK_HOURS: "Hasta cuánto tiempo atrás busca palabras en el historial el perfil memory.",
  VECTOR_SCORE_THRESHOLD:
    "Distancia de coseno desde la que el perfil files descarta un resultado; sin valor: la del modelo, o 0,5.",
  ENABLE_FILE_MENTION_ANCHORS: "Incluye las entidades de los archivos que nombra la consulta.",
  ENABLE_SYMBOL_MENTION_ANCHORS:
    "Incluye los símbolos, títulos, cláusulas y códigos que nombra la consulta, y sus vecinos.",
  ENABLE_PREVIOUS_HYDRATION_ANCHORS: "Incluye lo que ya mostraron los turnos anteriores del episodio.",
  ENABLE_SEMANTIC_RANKING: "Llena por parecido el espacio que queda.",
  SEMANTIC_THRESHOLD: "Coseno desde el que puede mostrarse una entidad; sin valor: el del modelo, o 0,7.",
  SEMANTIC_BUDGET_TOKENS: "Tokens que se muestran por parecido, como mucho.",
  SEMANTIC_BUDGET_ENTITIES: "Entidades que se muestran por parecido, como mucho.",
  HYDRATION_MAX_TOKENS: "Tokens de una hidratación completa, como mucho.",
  HYDRATION_MAX_ENTITIES: "Entidades de una hidratación completa, como mucho.",
  RERANK_PROVIDER: "none, o http: el /rerank de un servidor.",
  RERANK_MODEL: "Modelo que reordena.",
  RERANK_TIMEOUT_SECONDS: "Tiempo límite de la reordenación.",
  RERANK_POOL_SIZE: "Pasajes que se reordenan.",
  EMBEDDING_PROVIDER: "local, openai o none.",
  EMBEDDING_MODEL: "Modelo que hace los vectores.",
  EMBEDDING_DIM: "Tamaño de sus vectores.",
  ANSWER_PROVIDER: "extractive u openai.",
  ANSWER_MODEL: "Modelo de lenguaje que escribe las respuestas.",
  ANSWER_TIMEOUT_SECONDS: "Tiempo límite de una respuesta.",
  ANSWER_MAX_PASSAGES: "Pasajes que se leen para responder.",
  DEFAULT_LANGUAGE: "Idioma de los documentos que no indican ninguno.",
  CHUNK_MAX_TOKENS: "Tokens de un pasaje, como mucho.",
  CHUNK_OVERLAP_TOKENS: "Tokens que comparten dos pasajes vecinos.",
  REQUEST_TIMEOUT_SECONDS: "Duración máxima de una petición que no es un flujo.",
  MAX_FILE_BYTES: "Tamaño máximo de un archivo.",
  MAX_QUERY_CHARACTERS: "Longitud máxima de una consulta.",
  MAX_LIMIT: "Resultados por página, como mucho.",
  MAX_FILTER_CONDITIONS: "Condiciones de un filtro, como mucho.",
  RATE_LIMIT_PER_MINUTE: "Peticiones por minuto de cada clave; 0: sin límite.",
  RATE_LIMIT_BURST: "Peticiones seguidas de una clave antes de que ese límite cuente.",
  KEY_CONCURRENCY: "Peticiones abiertas a la vez de cada clave.",
  DAILY_TOKEN_BUDGET: "Tokens de modelos de lenguaje al día (UTC) de cada clave; 0: sin límite.",
  ENABLE_TRACING: "Exporta trazas de OpenTelemetry (extra otel; OTEL_EXPORTER_OTLP_ENDPOINT dice adónde).",
};

/** Return what a setting does, in the reader's language where it is known. */
export function meaningOf({ name, says }: Status["flags"][number]): Words {
  if (language.value === "en") return { text: says };
  const spanish = Object.hasOwn(SPANISH, name) ? SPANISH[name] : undefined;
  return spanish === undefined ? { text: says, lang: "en" } : { text: spanish };
}
