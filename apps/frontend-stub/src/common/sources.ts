import { messages } from "../i18n/messages";

const say = messages({
  es: {
    dense: "significado",
    full_text: "texto",
    identifiers: "códigos exactos",
    all_words: "todas las palabras",
    graph: "grafo",
    grep: "archivos",
    structure: "lo que nombra la consulta",
    database: "base de datos",
    answerer: "respuestas",
    rerank: "reordenación",
    highlight: "marcas de las palabras",
    describe: "datos de los candidatos",
    diversification: "variedad",
    neighbour_expansion: "pasajes vecinos",
    question_rewriter: "lectura de la pregunta con las anteriores",
    artifact_chunks: "pasajes",
    artifacts: "documentos",
    memory: "memoria",
    history: "historial",
    files: "archivos",
  },
  en: {
    dense: "meaning",
    full_text: "text",
    identifiers: "exact codes",
    all_words: "all words",
    graph: "graph",
    grep: "files",
    structure: "what the query names",
    database: "database",
    answerer: "answers",
    rerank: "reranking",
    highlight: "marks of the words",
    describe: "facts about candidates",
    diversification: "variety",
    neighbour_expansion: "neighbouring passages",
    question_rewriter: "reading the question with those before",
    artifact_chunks: "passages",
    artifacts: "documents",
    memory: "memory",
    history: "history",
    files: "files",
  },
});

type Known = keyof ReturnType<typeof say>;

/** Return a source's, list's or collection's name in plain words: `memory.dense` is "memoria, significado". */
export function sourceName(name: string): string {
  const texts = say();
  return name
    .split(".")
    .map((part) => (Object.hasOwn(texts, part) ? texts[part as Known] : part))
    .join(", ");
}
