import { computed, signal } from "@preact/signals";

/** The service takes questions of so many characters, counted as code points. */
export const MOST_CHARACTERS = 2000;

const NO_CHARACTER = new RegExp(`${String.fromCodePoint(0)}|\\p{Cs}`, "gu"); // half of a surrogate pair
const UNSEEN = /^[\s\p{Cc}\p{Cf}]*$/u;

/** What is typed and not asked yet, with the questions that were asked before within reach. */
export class Draft {
  readonly text = signal("");
  /** What would be asked: without what the service takes for no character, and without the space around it. */
  readonly question = computed(() => this.text.value.replace(NO_CHARACTER, "").trim());
  readonly over = computed(() => Math.max(0, lengthOf(this.question.value) - MOST_CHARACTERS));
  readonly blank = computed(() => UNSEEN.test(this.question.value));

  private back = 0;

  write(text: string): void {
    this.text.value = text;
    this.back = 0;
  }

  /** Bring an asked question back: the one before (`step` 1) or after (-1). Say whether there is one. */
  recall(asked: readonly string[], step: 1 | -1): boolean {
    if (this.back === 0 && (this.text.value !== "" || step === -1)) return false;
    const to = Math.min(asked.length, this.back + step);
    if (to === this.back) return false;
    this.back = to;
    this.text.value = to === 0 ? "" : (asked.at(-to) ?? "");
    return true;
  }
}

let withoutKey = "";

/** Keep what somebody without a key typed until there is one: the key was asked for because of it. */
export function leaveWithoutKey(text: string): void {
  withoutKey = text;
}

/** Take what was typed without a key; it is there once. */
export function takeLeft(): string {
  const text = withoutKey;
  withoutKey = "";
  return text;
}

function lengthOf(text: string): number {
  if (text.length <= MOST_CHARACTERS) return text.length; // no text has more code points than units
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
