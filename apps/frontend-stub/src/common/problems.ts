import type { Problem } from "../client/errors";
import { messages } from "../i18n/messages";
import { reasonText } from "./reasons";

/** Problems that say all by their code. */
const byCode = messages({
  es: {
    busy: "Está ocupado con otras peticiones. Vuelve a intentarlo en unos segundos.",
    request_timeout: "Ha tardado demasiado en responder. Vuelve a intentarlo en unos segundos.",
    stopping: "Se está cerrando. Vuelve a intentarlo cuando esté de nuevo en marcha.",
    internal:
      "Ha fallado algo en el servicio. Quien lo administra puede encontrar la causa con el número de la petición.",
    all_sources_failed: "Ninguna de las fuentes ha podido responder.",
    payload_too_large: "Es demasiado grande para el servicio.",
    invalid_input: "",
  },
  en: {
    busy: "It is busy with other requests. Try again in a few seconds.",
    request_timeout: "It took too long to answer. Try again in a few seconds.",
    stopping: "It is shutting down. Try again once it is back.",
    internal: "Something failed in the service. Whoever runs it can find the cause by the request number.",
    all_sources_failed: "None of the sources could answer.",
    payload_too_large: "It is too large for the service.",
    invalid_input: "",
  },
});

const particular = messages({
  es: {
    forbidden: (scope: string) =>
      `Le falta ${scope ? `el permiso «${scope}»` : "un permiso"}. Pide a quien administra el servicio una clave que lo tenga.`,
    answerTooLong: "El modelo ha escrito más de lo que cabe en una respuesta. Pregunta por algo más concreto.",
  },
  en: {
    forbidden: (scope: string) =>
      `It lacks ${scope ? `the scope “${scope}”` : "a scope"}. Ask whoever runs the service for a key that has it.`,
    answerTooLong: "The model wrote more than fits in an answer. Ask for something more specific.",
  },
});

/** Which limit of the key is reached, by the reason. */
const limits = messages({
  es: {
    rate: "Tu clave ha hecho demasiadas peticiones seguidas.",
    concurrency: "Tu clave tiene demasiadas peticiones abiertas a la vez.",
    tokens: "Tu clave ha gastado los tokens que tiene para hoy. Buscar no los gasta.",
  },
  en: {
    rate: "Your key has sent too many requests in a row.",
    concurrency: "Your key has too many requests open at once.",
    tokens: "Your key has used its tokens of today. Searching takes none.",
  },
});

/** What is out, by the code; the reason goes on after it. */
const out = messages({
  es: {
    storage_unavailable: "La base de datos",
    embedder_unavailable: "El modelo de vectores",
    answerer_unavailable: "El modelo que escribe las respuestas",
  },
  en: {
    storage_unavailable: "The database",
    embedder_unavailable: "The embedding model",
    answerer_unavailable: "The model that writes the answers",
  },
});

/**
 * Return a problem in the reader's language, null where only the service's own words, in English, tell it. It is empty
 * where its fields tell all; of a key without a scope, or at a limit, it tells all that they do.
 */
export function problemText({ code, reason, errors }: Problem): string | null {
  if (code === "invalid_input" && errors.length === 0) return null;
  if (code === "forbidden") return particular().forbidden(errors[0]?.limit ?? "");
  if (code === "answerer_unavailable" && reason === "too_long") return particular().answerTooLong;
  if (code === "too_many_requests") {
    const reached = limits();
    return Object.hasOwn(reached, reason ?? "") ? reached[reason as keyof typeof reached] : null;
  }
  const sentences = byCode();
  if (Object.hasOwn(sentences, code)) return sentences[code as keyof typeof sentences];
  const subjects = out();
  if (!Object.hasOwn(subjects, code)) return null;
  const why = reasonText("unavailable");
  return `${subjects[code as keyof typeof subjects]} ${reason ? reasonText(reason, why) : why}.`;
}
