import { messages, number } from "../i18n/messages";

export const texts = messages({
  es: {
    title: "Estado",
    ok: "Todo funciona.",
    degraded: "Responde, pero no con todo.",
    unavailable: "No puede responder ahora.",
    refresh: "Actualizar",
    seen: (seconds: number) => (seconds < 2 ? "Visto ahora mismo" : `Visto hace ${number(seconds)} s`),
    stale: "Lo que sigue es lo último que se vio.",
    sources: "Fuentes",
    stateOk: "funciona",
    stateDegraded: "a medias",
    stateOut: "fuera de servicio",
    stateOff: "sin activar",
    remedy: "Qué hacer",
    counts: "Lo que puedes leer",
    noCounts: "Ahora no se puede contar: la base de datos no responde.",
    documents: "documentos",
    deleted_documents: "documentos borrados",
    chunks: "pasajes",
    memories: "recuerdos",
    turns: "turnos de conversación",
    entities: "entidades",
    facts: "hechos",
    embeddings: "Vectores",
    model: "Modelo",
    noModel: "Sin modelo: se busca solo por texto.",
    pending: (count: number) =>
      count === 0
        ? "Ninguno pendiente: todo se encuentra por texto y por significado."
        : count === 1
          ? "1 pendiente: ese texto ya se encuentra por sus palabras, y pronto por significado."
          : `${number(count)} pendientes: esos textos ya se encuentran por sus palabras, y pronto por significado.`,
    failed: (count: number) =>
      `${count === 1 ? "1 no se ha podido hacer" : `${number(count)} no se han podido hacer`}: «ragcorp doctor» dice por qué.`,
    unknownPending: "Ahora no se sabe cuántos faltan.",
    flags: "Opciones en vigor",
    flagsText: "Solo lectura: se cambian en el entorno del servicio.",
    name: "Opción",
    value: "Valor",
    means: "Qué hace",
    isDefault: "por defecto",
    version: (version: string) => `ragcorp ${version}`,
  },
  en: {
    title: "Health",
    ok: "Everything works.",
    degraded: "It answers, but not with everything.",
    unavailable: "It cannot answer now.",
    refresh: "Refresh",
    seen: (seconds: number) => (seconds < 2 ? "Seen just now" : `Seen ${number(seconds)} s ago`),
    stale: "What follows is what was seen last.",
    sources: "Sources",
    stateOk: "works",
    stateDegraded: "in part",
    stateOut: "out of order",
    stateOff: "off",
    remedy: "What to do",
    counts: "What you may read",
    noCounts: "It cannot be counted now: the database does not answer.",
    documents: "documents",
    deleted_documents: "deleted documents",
    chunks: "passages",
    memories: "memories",
    turns: "turns of conversations",
    entities: "entities",
    facts: "facts",
    embeddings: "Vectors",
    model: "Model",
    noModel: "No model: the search is by text alone.",
    pending: (count: number) =>
      count === 0
        ? "None pending: everything is found by text and by meaning."
        : count === 1
          ? "1 pending: that text is found by its words already, and by meaning soon."
          : `${number(count)} pending: those texts are found by their words already, and by meaning soon.`,
    failed: (count: number) => `${number(count)} could not be made: “ragcorp doctor” tells why.`,
    unknownPending: "How many are missing is not known now.",
    flags: "Switches in force",
    flagsText: "Read only: they are changed in the service's environment.",
    name: "Switch",
    value: "Value",
    means: "What it does",
    isDefault: "default",
    version: (version: string) => `ragcorp ${version}`,
  },
});
