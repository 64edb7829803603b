import { computed, effect, signal } from "@preact/signals";
import { localeOf } from "../i18n/locale";

export type Language = "es" | "en";
export type Theme = "system" | "light" | "dark";

const LANGUAGE = "ragcorp.language";
const THEME = "ragcorp.theme";

export const language = signal<Language>(chosen(LANGUAGE, ["es", "en"]) ?? ofBrowser());
export const theme = signal<Theme>(chosen(THEME, ["system", "light", "dark"]) ?? "system");

/** How numbers and dates are written. */
export const locale = computed(() => localeOf(language.value, navigator.languages));

effect(() => {
  document.documentElement.lang = language.value;
});

effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === "system") delete dataset.theme;
  else dataset.theme = theme.value;
});

export function chooseLanguage(value: Language): void {
  language.value = value;
  remember(LANGUAGE, value);
}

export function chooseTheme(value: Theme): void {
  theme.value = value;
  remember(THEME, value);
}

/** Spanish, unless the browser's first language of the two is English. */
function ofBrowser(): Language {
  const known = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return known.find((tag) => tag === "es" || tag === "en") === "en" ? "en" : "es";
}

function chosen<Value extends string>(name: string, values: readonly Value[]): Value | null {
  try {
    return values.find((value) => value === localStorage.getItem(name)) ?? null;
  } catch {
    return null;
  }
}

function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // a browser that keeps nothing: it holds until the page is left
  }
}
