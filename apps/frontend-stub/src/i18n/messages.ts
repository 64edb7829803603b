import { type Language, language, locale } from "../state/preferences";

/** A message is a text, or a function that makes one of what it is given. */
type Message = string | ((...given: never[]) => string);
type Texts = Record<string, Message>;
type Shape<T extends Texts> = { [Name in keyof T]: T[Name] extends string ? string : T[Name] };

export type Messages<T extends Texts> = Record<Language, Shape<T>>;

/** Bind the texts of one part of the page; English must have those that Spanish has, and no other. */
export function messages<T extends Texts>(texts: { es: T; en: NoInfer<Shape<T>> }): () => Shape<T> {
  const both: Messages<T> = { es: texts.es as Shape<T>, en: texts.en };
  return () => both[language.value];
}

export function number(value: number, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(locale.value, options).format(value);
}

export function moment(iso: string): string {
  return new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** Return the name of a language by its ISO 639 code; of what is none, the code. */
export function languageName(code: string): string {
  try {
    return new Intl.DisplayNames(locale.value, { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export function bytes(value: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log10(value) / 3));
  return number(value / 1000 ** power, {
    style: "unit",
    unit: units[power],
    unitDisplay: "short",
    maximumFractionDigits: power === 0 ? 0 : 1,
  });
}
