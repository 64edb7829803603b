import type { Incomplete, Unread } from "../client/api";
import { messages, number } from "../i18n/messages";
import { href } from "../state/route";
import { Name } from "./text";

const SHOWN_PLACES = 10;

type Words = (count: string, one: boolean) => string;

const words = messages({
  es: {
    page: (count, one) => (one ? "1 página no tiene texto" : `${count} páginas no tienen texto`),
    attachment: (count, one) => (one ? "1 adjunto no se ha leído" : `${count} adjuntos no se han leído`),
    member: (count, one) =>
      one ? "1 archivo de dentro no se ha leído" : `${count} archivos de dentro no se han leído`,
    hidden_sheet: (count, one) => (one ? "1 hoja oculta no se ha leído" : `${count} hojas ocultas no se han leído`),
    formula: (count, one) => (one ? "1 fórmula no guarda su resultado" : `${count} fórmulas no guardan su resultado`),
    annotation: (count, one) => (one ? "1 anotación no se ha leído" : `${count} anotaciones no se han leído`),
    image: (count, one) => (one ? "1 imagen no se ha leído" : `${count} imágenes no se han leído`),
    embedded_object: (count, one) =>
      one ? "1 objeto incrustado no se ha leído" : `${count} objetos incrustados no se han leído`,
    damaged_text: (count, one) => (one ? "1 carácter está dañado" : `${count} caracteres están dañados`),
    formatting: (count, one) =>
      one ? "1 formato de número no se ha leído" : `${count} formatos de número no se han leído`,
  } satisfies Record<Unread["kind"], Words>,
  en: {
    page: (count, one) => (one ? "1 page has no text" : `${count} pages have no text`),
    attachment: (count, one) => (one ? "1 attachment was not read" : `${count} attachments were not read`),
    member: (count, one) => (one ? "1 file inside was not read" : `${count} files inside were not read`),
    hidden_sheet: (count, one) => (one ? "1 hidden sheet was not read" : `${count} hidden sheets were not read`),
    formula: (count, one) =>
      one ? "1 formula does not store its result" : `${count} formulas do not store their results`,
    annotation: (count, one) => (one ? "1 annotation was not read" : `${count} annotations were not read`),
    image: (count, one) => (one ? "1 image was not read" : `${count} images were not read`),
    embedded_object: (count, one) =>
      one ? "1 embedded object was not read" : `${count} embedded objects were not read`,
    damaged_text: (count, one) => (one ? "1 character is damaged" : `${count} characters are damaged`),
    formatting: (count, one) => (one ? "1 number format was not read" : `${count} number formats were not read`),
  },
});

const say = messages({
  es: {
    title: "No se ha leído todo el archivo",
    answerTitle: "A la respuesta puede faltarle algo",
    answerText: "De estos documentos no se ha leído todo; lo que falta puede decir más.",
  },
  en: {
    title: "Not all of the file was read",
    answerTitle: "The answer may lack something",
    answerText: "These documents were not read whole; what is missing may say more.",
  },
});

/** Say in words how many parts of a kind were not read. */
export function unreadWords({ kind, count }: Unread): string {
  return words()[kind](number(count), count === 1);
}

/** What of a file was not read, kind by kind, with the places that are known. */
export function UnreadList({ unread }: { unread: readonly Unread[] }) {
  return (
    <ul class="unread">
      {unread.map((part) => (
        <li key={part.kind}>
          {unreadWords(part)}
          <Places part={part} />
        </li>
      ))}
    </ul>
  );
}

function Places({ part: { places, count } }: { part: Unread }) {
  const shown = places.slice(0, SHOWN_PLACES);
  if (shown.length === 0) return null;
  return (
    <>
      {": "}
      {shown.map((place, index) => (
        <span key={`${index}-${place}`}>
          {index > 0 && ", "}
          <Name>{place}</Name>
        </span>
      ))}
      {count > shown.length && ", …"}
    </>
  );
}

/** Tells of a document that it was not read whole. Nothing where it was. */
export function UnreadNotice({ unread }: { unread: readonly Unread[] }) {
  if (unread.length === 0) return null;
  return (
    <div class="notice notice-warning">
      <p class="notice-title">{say().title}</p>
      <UnreadList unread={unread} />
    </div>
  );
}

/** Tells of an answer that it rests on documents that were not read whole. Nothing where it does not. */
export function IncompleteNotice({ incomplete }: { incomplete: readonly Incomplete[] }) {
  const texts = say();
  if (incomplete.length === 0) return null;
  return (
    <div class="notice notice-warning" role="status">
      <p class="notice-title">{texts.answerTitle}</p>
      <p>{texts.answerText}</p>
      <ul>
        {incomplete.map(({ external_id: id, title, unread }) => (
          <li key={id}>
            <a href={href({ view: "document", id, place: {} })}>
              <Name>{title || id}</Name>
            </a>
            <UnreadList unread={unread} />
          </li>
        ))}
      </ul>
    </div>
  );
}
