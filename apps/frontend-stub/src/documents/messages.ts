import { messages, number } from "../i18n/messages";

export const texts = messages({
  es: {
    title: "Documentos",
    dropTitle: "Arrastra aquí archivos o una carpeta",
    dropHere: "Suéltalos aquí",
    dropText:
      "PDF, Word, Excel, PowerPoint, OpenDocument, correo, EPUB, RTF, zip, HTML, Markdown, CSV, texto y código.",
    chooseFiles: "Elegir archivos",
    chooseFolder: "Elegir carpeta",
    reading: "Leyendo lo que has soltado…",
    skipped: (count: number) =>
      count === 1
        ? "Se ha omitido 1 archivo oculto o del sistema"
        : `Se han omitido ${number(count)} archivos ocultos o del sistema`,
    empty: (count: number) =>
      count === 1 ? "Se ha omitido 1 archivo vacío" : `Se han omitido ${number(count)} archivos vacíos`,
    unreadable: (count: number) =>
      count === 1
        ? "El navegador no ha podido leer 1 archivo"
        : `El navegador no ha podido leer ${number(count)} archivos`,
    alike: (count: number) =>
      count === 1
        ? "1 archivo se llama igual que otro y no se sube: cámbiale el nombre"
        : `${number(count)} archivos se llaman igual que otros y no se suben: cámbiales el nombre`,
    nothingFound: "No hay ningún archivo que subir.",

    uploads: "Subidas",
    uploadsOf: (done: number, total: number) =>
      `${number(done)} de ${number(total)} ${total === 1 ? "archivo" : "archivos"}`,
    failedCount: (count: number) => `${number(count)} con error`,
    uploadsDone: (done: number, failed: number) =>
      `Subida terminada: ${number(done)} ${done === 1 ? "archivo listo" : "archivos listos"}${failed ? `, ${number(failed)} con error` : ""}.`,
    allFiles: "Todos los archivos",
    cancelAll: "Cancelar todo",
    clear: "Quitar los terminados",
    retryFailed: "Reintentar los fallidos",
    retry: "Reintentar",
    cancel: "Cancelar",
    cancelOne: (name: string) => `Cancelar la subida de ${name}`,
    retryOne: (name: string) => `Reintentar ${name}`,
    progressOf: (name: string) => `Progreso de ${name}`,
    waiting: "En espera",
    again: (attempt: number, of: number) => `En espera; intento ${number(attempt)} de ${number(of)}`,
    sending: (percent: number) => `Enviando, ${number(percent)} %`,
    indexing: "Indexando…",
    created: (chunks: number) => `Nuevo: ${passages(chunks)}`,
    updated: (chunks: number) => `Actualizado: ${passages(chunks)}`,
    unchanged: (chunks: number) => `Sin cambios: ${passages(chunks)}`,
    unread: "No se ha leído todo:",
    pendingAfter: "Ya se encuentra por texto; por significado, en un momento.",
    cancelled: "Cancelado",
    heldFor: (seconds: number) => `El servicio no da abasto o no responde. Se sigue en ${number(seconds)} s.`,
    pausedTitle: "Subida en pausa",
    leftOver: (count: number) =>
      count === 1
        ? "1 archivo quedó sin subir porque la clave de antes dejó de valer"
        : `${number(count)} archivos quedaron sin subir porque la clave de antes dejó de valer`,
    sendLeftOver: "Subir con esta clave",
    dropLeftOver: "No subir",
    goOn: "Continuar",
    moreRows: (count: number) => `Mostrar ${number(count)} más`,
    open: "Abrir",

    tooLarge: "Demasiado grande",
    tooLargeRemedy: (limit: string) =>
      `${limit ? `El límite es ${limit}. ` : ""}Divídelo, o pide que suban el límite a quien lleva el servicio.`,
    badType: "Este tipo de archivo no se admite",
    badTypeRemedy: "Conviértelo a uno de los admitidos, por ejemplo PDF o Markdown.",
    unreadableDocument: "No se le puede sacar ningún texto",
    unreadableRemedy:
      "Comprueba que se abre, que tiene texto y no solo imágenes, que no lleva contraseña y que su extensión es la suya.",
    badName: "Este nombre no se admite",
    badNameRemedy: (most: string) =>
      most ? `Acórtalo, carpetas incluidas, hasta ${most} caracteres como mucho.` : "Cambia el nombre del archivo.",
    invalid: "El servicio no lo acepta así",
    invalidRemedy: "No ha dicho por qué. Pregunta a quien lo lleva.",
    fileGone: "El navegador no puede leer el archivo",
    fileGoneRemedy: "Puede que se haya movido, cambiado o borrado. Elígelo otra vez.",
    offline: "No se pudo llegar al servicio",
    offlineRemedy: "Comprueba la conexión y vuelve a intentarlo.",
    unavailable: "El servicio no pudo guardarlo",
    unavailableRemedy: "Vuelve a intentarlo dentro de un rato.",
    unauthorised: "Hace falta una clave válida",
    unauthorisedRemedy: "Introduce tu clave y continúa.",
    forbidden: "Tu clave no permite añadir ni borrar documentos",
    forbiddenRemedy: "Pide una clave con permiso para ello (ingest) a quien lleva el servicio.",
    conflict: "Alguien lo ha escrito de nuevo entretanto",
    conflictRemedy: "El documento actual se queda como está.",
    gone: "Ya no se puede recuperar, o tu clave no lo ve",
    goneRemedy: "Sube el archivo otra vez si lo necesitas.",
    details: "Lo que dice el servicio",
    limit: "Límite",
    remedy: "Qué hacer",

    list: "En el servicio",
    filter: "Nombre que empieza por",
    filterHint: "p. ej. contratos/",
    showDeleted: "Ver los borrados",
    selectAll: "Seleccionar todos los mostrados",
    selectOne: (name: string) => `Seleccionar ${name}`,
    deleteSelected: (count: number) => (count ? `Borrar selección (${number(count)})` : "Borrar selección"),
    document: "Documento",
    kind: "Tipo",
    size: "Tamaño",
    language: "Idioma",
    passages: "Pasajes",
    updatedAt: "Actualizado",
    deletedAt: "Borrado",
    actions: "Acciones",
    pending: (count: number) => `${number(count)} sin vector`,
    pendingHint: "Se encuentran por texto; por significado, en cuanto tengan su vector.",
    delete: "Borrar",
    deleteOne: (name: string) => `Borrar ${name}`,
    restore: "Restaurar",
    restoreOne: (name: string) => `Restaurar ${name}`,
    more: "Mostrar más",
    shownCount: (count: number, more: boolean) =>
      `${number(count)}${more ? "+" : ""} ${count === 1 && !more ? "documento" : "documentos"}`,
    emptyTitle: "Todavía no hay documentos",
    emptyText: "Suelta arriba archivos o una carpeta y podrás preguntar por lo que dicen.",
    noneTitle: "Ningún documento empieza así",
    noneText: "El filtro mira el principio del nombre y distingue mayúsculas.",
    noDeleted: "No hay documentos borrados",
    reload: "Cargar de nuevo",
    notLoaded: "La lista no se ha podido cargar.",

    undoRegion: "Documentos borrados hace un momento",
    deleting: "Borrando…",
    deleted: "Borrado:",
    deletedMany: (count: number) => `${number(count)} documentos borrados.`,
    deletingMany: (count: number) => `Borrando ${number(count)} documentos…`,
    restoring: "Recuperando…",
    undo: "Deshacer",
    dismiss: "Descartar aviso",
    notDeleted: (count: number) =>
      count === 1 ? "1 documento sigue donde estaba" : `${number(count)} documentos siguen donde estaban`,
    notRestored: (count: number) =>
      count === 1 ? "1 documento no se ha recuperado" : `${number(count)} documentos no se han recuperado`,
  },
  en: {
    title: "Documents",
    dropTitle: "Drop files or a folder here",
    dropHere: "Drop them here",
    dropText: "PDF, Word, Excel, PowerPoint, OpenDocument, e-mail, EPUB, RTF, zip, HTML, Markdown, CSV, text and code.",
    chooseFiles: "Choose files",
    chooseFolder: "Choose folder",
    reading: "Reading what you dropped…",
    skipped: (count: number) =>
      count === 1 ? "1 hidden or system file was left out" : `${number(count)} hidden or system files were left out`,
    empty: (count: number) =>
      count === 1 ? "1 empty file was left out" : `${number(count)} empty files were left out`,
    unreadable: (count: number) =>
      count === 1 ? "The browser could not read 1 file" : `The browser could not read ${number(count)} files`,
    alike: (count: number) =>
      count === 1
        ? "1 file has the name of another and is not uploaded: rename it"
        : `${number(count)} files have the names of others and are not uploaded: rename them`,
    nothingFound: "There is no file to upload.",

    uploads: "Uploads",
    uploadsOf: (done: number, total: number) => `${number(done)} of ${number(total)} ${total === 1 ? "file" : "files"}`,
    failedCount: (count: number) => `${number(count)} failed`,
    uploadsDone: (done: number, failed: number) =>
      `Upload finished: ${number(done)} ${done === 1 ? "file" : "files"} ready${failed ? `, ${number(failed)} failed` : ""}.`,
    allFiles: "All files",
    cancelAll: "Cancel all",
    clear: "Remove finished",
    retryFailed: "Try failed ones again",
    retry: "Try again",
    cancel: "Cancel",
    cancelOne: (name: string) => `Cancel the upload of ${name}`,
    retryOne: (name: string) => `Try ${name} again`,
    progressOf: (name: string) => `Progress of ${name}`,
    waiting: "Waiting",
    again: (attempt: number, of: number) => `Waiting; attempt ${number(attempt)} of ${number(of)}`,
    sending: (percent: number) => `Sending, ${number(percent)}%`,
    indexing: "Indexing…",
    created: (chunks: number) => `New: ${passages(chunks)}`,
    updated: (chunks: number) => `Updated: ${passages(chunks)}`,
    unchanged: (chunks: number) => `Unchanged: ${passages(chunks)}`,
    unread: "Not all of it was read:",
    pendingAfter: "Found by text already; by meaning in a moment.",
    cancelled: "Cancelled",
    heldFor: (seconds: number) => `The service is busy or does not answer. Going on in ${number(seconds)} s.`,
    pausedTitle: "Upload paused",
    leftOver: (count: number) =>
      count === 1
        ? "1 file was not uploaded, because the key before is no longer valid"
        : `${number(count)} files were not uploaded, because the key before is no longer valid`,
    sendLeftOver: "Upload with this key",
    dropLeftOver: "Do not upload",
    goOn: "Go on",
    moreRows: (count: number) => `Show ${number(count)} more`,
    open: "Open",

    tooLarge: "Too large",
    tooLargeRemedy: (limit: string) =>
      `${limit ? `The limit is ${limit}. ` : ""}Split it, or ask whoever runs the service to raise the limit.`,
    badType: "This kind of file is not taken",
    badTypeRemedy: "Convert it to one that is, such as PDF or Markdown.",
    unreadableDocument: "No text can be read from it",
    unreadableRemedy:
      "Check that it opens, holds text and not only images, has no password and has the extension of its real kind.",
    badName: "This name is not taken",
    badNameRemedy: (most: string) =>
      most ? `Shorten it, folders included, to ${most} characters at most.` : "Change the name of the file.",
    invalid: "The service does not take it like this",
    invalidRemedy: "It did not say why. Ask whoever runs it.",
    fileGone: "The browser cannot read the file",
    fileGoneRemedy: "It may have been moved, changed or deleted. Choose it again.",
    offline: "The service could not be reached",
    offlineRemedy: "Check the connection and try again.",
    unavailable: "The service could not store it",
    unavailableRemedy: "Try again in a while.",
    unauthorised: "A valid key is needed",
    unauthorisedRemedy: "Enter your key and go on.",
    forbidden: "Your key may not add or delete documents",
    forbiddenRemedy: "Ask whoever runs the service for a key that may (ingest).",
    conflict: "Somebody has written it anew meanwhile",
    conflictRemedy: "The document stays as it is now.",
    gone: "It cannot be brought back any more, or your key does not see it",
    goneRemedy: "Upload the file again if you need it.",
    details: "What the service says",
    limit: "Limit",
    remedy: "What to do",

    list: "On the service",
    filter: "Name starts with",
    filterHint: "e.g. contracts/",
    showDeleted: "Show deleted",
    selectAll: "Select all shown",
    selectOne: (name: string) => `Select ${name}`,
    deleteSelected: (count: number) => (count ? `Delete selected (${number(count)})` : "Delete selected"),
    document: "Document",
    kind: "Type",
    size: "Size",
    language: "Language",
    passages: "Passages",
    updatedAt: "Updated",
    deletedAt: "Deleted",
    actions: "Actions",
    pending: (count: number) => `${number(count)} without vector`,
    pendingHint: "Found by text; by meaning as soon as they have their vectors.",
    delete: "Delete",
    deleteOne: (name: string) => `Delete ${name}`,
    restore: "Restore",
    restoreOne: (name: string) => `Restore ${name}`,
    more: "Show more",
    shownCount: (count: number, more: boolean) =>
      `${number(count)}${more ? "+" : ""} ${count === 1 && !more ? "document" : "documents"}`,
    emptyTitle: "There are no documents yet",
    emptyText: "Drop files or a folder above, and you can ask about what they say.",
    noneTitle: "No document starts like that",
    noneText: "The filter looks at the start of the name and minds capital letters.",
    noDeleted: "There are no deleted documents",
    reload: "Load again",
    notLoaded: "The list could not be loaded.",

    undoRegion: "Documents deleted a moment ago",
    deleting: "Deleting…",
    deleted: "Deleted:",
    deletedMany: (count: number) => `${number(count)} documents deleted.`,
    deletingMany: (count: number) => `Deleting ${number(count)} documents…`,
    restoring: "Bringing back…",
    undo: "Undo",
    dismiss: "Dismiss",
    notDeleted: (count: number) =>
      count === 1 ? "1 document is still where it was" : `${number(count)} documents are still where they were`,
    notRestored: (count: number) =>
      count === 1 ? "1 document was not brought back" : `${number(count)} documents were not brought back`,
  },
});

const counted = messages({
  es: { passages: (count: number) => `${number(count)} ${count === 1 ? "pasaje" : "pasajes"}` },
  en: { passages: (count: number) => `${number(count)} ${count === 1 ? "passage" : "passages"}` },
});

function passages(count: number): string {
  return counted().passages(count);
}
