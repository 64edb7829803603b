/** The service takes questions, and queries, of so many characters, counted as code points. */
export const MOST_CHARACTERS = 2000;

const NO_CHARACTER = new RegExp(`${String.fromCodePoint(0)}|\\p{Cs}`, "gu"); // half of a surrogate pair
const UNSEEN = /^[\s\p{Cc}\p{Cf}]*$/u;

/** Return what of a typed text is asked: without what the service takes for no character, and the space around it. */
export function questionOf(text: string): string {
  return text.replace(NO_CHARACTER, "").trim();
}

/** Say whether nobody would see anything in a text. */
export function isBlank(text: string): boolean {
  return UNSEEN.test(text);
}

/** Return how many characters of a question are too many. */
export function excessOf(question: string): number {
  if (question.length <= MOST_CHARACTERS) return 0; // no text has more code points than units
  let length = 0;
  for (const _ of question) length += 1;
  return Math.max(0, length - MOST_CHARACTERS);
}
