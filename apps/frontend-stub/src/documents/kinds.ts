import { messages } from "../i18n/messages";
import { language } from "../state/preferences";

const say = messages({
  es: {
    "text/markdown": "Markdown",
    "text/plain": "Texto",
    "text/html": "HTML",
    "text/csv": "CSV",
    "message/rfc822": "Correo",
    "application/pdf": "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
  },
  en: {
    "text/markdown": "Markdown",
    "text/plain": "Text",
    "text/html": "HTML",
    "text/csv": "CSV",
    "message/rfc822": "E-mail",
    "application/pdf": "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
  },
});

const levels = messages({
  es: { public: "pública", normal: "normal", confidential: "confidencial", restricted: "restringida" },
  en: { public: "public", normal: "normal", confidential: "confidential", restricted: "restricted" },
});

/** Return the kind of a file in plain words; of one that is not known, its media type. */
export function kindOf(mediaType: string): string {
  const texts = say();
  return Object.hasOwn(texts, mediaType) ? texts[mediaType as keyof typeof texts] : mediaType;
}

/** Return the name of a language by its ISO 639 code; of an unknown one, the code. */
export function languageName(code: string): string {
  try {
    return new Intl.DisplayNames([language.value], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export function sensitivityName(level: keyof ReturnType<typeof levels>): string {
  return levels()[level];
}
