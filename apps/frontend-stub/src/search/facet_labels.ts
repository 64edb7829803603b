import { sourceName } from "../common/sources";
import { languageName } from "../i18n/messages";
import { locale } from "../state/preferences";
import type { Chip, Facet } from "./filters";
import { texts } from "./messages";

const TYPES = {
  document: "typeDocument",
  contract: "typeContract",
  policy: "typePolicy",
  email: "typeEmail",
  ticket: "typeTicket",
  memory: "typeMemory",
  fact: "typeFact",
  preference: "typePreference",
  person: "typePerson",
  place: "typePlace",
  relationship: "typeRelationship",
  turn: "typeTurn",
  question: "typeQuestion",
  answer: "typeAnswer",
  abstention: "typeAbstention",
} as const;

/** Return a facet's value in plain words; one that is not known keeps its name. */
export function valueLabel(facet: Facet, value: string): string {
  if (facet === "collection") return sourceName(value);
  if (facet === "language") return languageName(value);
  if (facet === "month") return monthName(value);
  return Object.hasOwn(TYPES, value) ? texts()[TYPES[value as keyof typeof TYPES]] : value;
}

export function chipLabel({ facet, value }: Chip): string {
  const say = texts();
  if (facet === "from") return say.fromDay(dayName(`${value}T00:00:00Z`));
  if (facet === "to") return say.toDay(dayName(`${value}T00:00:00Z`));
  return valueLabel(facet, value);
}

/** Return the day of an instant, of UTC as the filters have it. */
export function dayName(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeZone: "UTC" }).format(date);
}

function monthName(month: string): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return month;
  return new Intl.DateTimeFormat(locale.value, { month: "long", year: "numeric", timeZone: "UTC" }).format(date);
}
