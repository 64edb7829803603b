/** Return the first of the browser's tags that is of the language, with its region: `en-GB`; the language where none is. */
export function localeOf(language: string, tags: readonly string[]): string {
  return tags.find((tag) => tag.toLowerCase().startsWith(`${language}-`)) ?? language;
}
