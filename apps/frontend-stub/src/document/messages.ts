import { messages, number } from "../i18n/messages";

export const texts = messages({
  es: {
    title: "Documento",
    back: "Volver a documentos",
    original: "Ver el original",
    saveOriginal: "Descargar el original",
    saving: "Descargando…",
    kind: "Tipo",
    language: "Idioma",
    size: "Tamaño",
    passages: "Pasajes",
    sensitivity: "Sensibilidad",
    created: "Añadido",
    updated: "Actualizado",
    dated: "Fecha",
    partOf: "Archivo de dentro de",
    parts: (count: number) =>
      count === 1
        ? "1 archivo dentro, con su documento"
        : `${number(count)} archivos dentro, cada uno con su documento`,
    recognition: (done: number, pages: number, failed: number) =>
      `OCR: ${number(done)} de ${number(pages)} páginas escaneadas leídas${failed ? `, ${number(failed)} ilegibles` : ""}`,
    pending: (count: number) => `${number(count)} aún sin vector: se encuentran por texto, todavía no por significado`,
    text: "Texto del documento",
    find: "Buscar en el documento",
    previous: "Coincidencia anterior",
    next: "Coincidencia siguiente",
    hits: (at: number, of: number, all: boolean) =>
      of === 0 ? (all ? "Sin coincidencias" : "Buscando…") : `${number(at)} de ${number(of)}${all ? "" : "+"}`,
    page: "Página",
    passage: "Pasaje",
    go: "Ir",
    pageMark: (from: number, to: number) =>
      from === to ? `Página ${number(from)}` : `Páginas ${number(from)}–${number(to)}`,
    loaded: (count: number, total: number) => `${number(count)} de ${number(total)} pasajes cargados`,
    more: "Cargar más",
    lost: "Lo citado no aparece tal cual: puede que el documento haya cambiado. Se abre en el lugar más cercano.",
    nowhere: "El lugar indicado no está en este documento: puede que haya cambiado. Se abre por el principio.",
    missingTitle: "Este documento no está disponible",
    missingText: "No existe, se ha borrado o tu clave no permite verlo.",
    noText: "Este documento no tiene texto.",
  },
  en: {
    title: "Document",
    back: "Back to documents",
    original: "View the original",
    saveOriginal: "Download the original",
    saving: "Downloading…",
    kind: "Type",
    language: "Language",
    size: "Size",
    passages: "Passages",
    sensitivity: "Sensitivity",
    created: "Added",
    updated: "Updated",
    dated: "Date",
    partOf: "File inside",
    parts: (count: number) =>
      count === 1
        ? "1 file inside, with its own document"
        : `${number(count)} files inside, each with its own document`,
    recognition: (done: number, pages: number, failed: number) =>
      `OCR: ${number(done)} of ${number(pages)} scanned pages read${failed ? `, ${number(failed)} failed` : ""}`,
    pending: (count: number) => `${number(count)} without vectors yet: found by text, not yet by meaning`,
    text: "Document text",
    find: "Find in document",
    previous: "Previous match",
    next: "Next match",
    hits: (at: number, of: number, all: boolean) =>
      of === 0 ? (all ? "No matches" : "Searching…") : `${number(at)} of ${number(of)}${all ? "" : "+"}`,
    page: "Page",
    passage: "Passage",
    go: "Go",
    pageMark: (from: number, to: number) =>
      from === to ? `Page ${number(from)}` : `Pages ${number(from)}–${number(to)}`,
    loaded: (count: number, total: number) => `${number(count)} of ${number(total)} passages loaded`,
    more: "Load more",
    lost: "The quoted words are not there word for word: the document may have changed. It opens at the nearest place.",
    nowhere: "That place is not in this document: it may have changed. It opens at the beginning.",
    missingTitle: "This document is not available",
    missingText: "It does not exist, was deleted, or your key cannot see it.",
    noText: "This document has no text.",
  },
});
