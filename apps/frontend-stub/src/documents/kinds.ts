import { messages } from "../i18n/messages";

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
    "application/vnd.ms-outlook": "Correo de Outlook",
    "text/tab-separated-values": "TSV",
    "application/rtf": "RTF",
    "application/vnd.oasis.opendocument.text": "OpenDocument, texto",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument, hoja de cálculo",
    "application/vnd.oasis.opendocument.presentation": "OpenDocument, presentación",
    "application/epub+zip": "EPUB",
    "application/x-ipynb+json": "Cuaderno de Jupyter",
    "text/calendar": "Calendario",
    "text/vcard": "Contactos",
    "application/zip": "Zip",
    "application/msword": "Word 97",
    "application/vnd.ms-excel": "Excel 97",
    "application/vnd.ms-powerpoint": "PowerPoint 97",
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
    "application/vnd.ms-outlook": "Outlook e-mail",
    "text/tab-separated-values": "TSV",
    "application/rtf": "RTF",
    "application/vnd.oasis.opendocument.text": "OpenDocument text",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument spreadsheet",
    "application/vnd.oasis.opendocument.presentation": "OpenDocument presentation",
    "application/epub+zip": "EPUB",
    "application/x-ipynb+json": "Jupyter notebook",
    "text/calendar": "Calendar",
    "text/vcard": "Contacts",
    "application/zip": "Zip",
    "application/msword": "Word 97",
    "application/vnd.ms-excel": "Excel 97",
    "application/vnd.ms-powerpoint": "PowerPoint 97",
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

/** Say whether a file is read in letters of one width: a program, or data that a program reads. */
export function isCode({ media_type, filename }: { media_type: string; filename: string }): boolean {
  return media_type === "text/plain" && /\.(?!te?xt$|log$|rst$|md$)[a-z][a-z0-9]{0,9}$/i.test(filename);
}

export function sensitivityName(level: keyof ReturnType<typeof levels>): string {
  return levels()[level];
}
