import { computed, signal } from "@preact/signals";
import { excessOf, isBlank, questionOf } from "../common/question";

/** What is typed and not asked yet, with the questions that were asked before within reach. */
export class Draft {
  readonly text = signal("");
  /** What would be asked. */
  readonly question = computed(() => questionOf(this.text.value));
  readonly over = computed(() => excessOf(this.question.value));
  readonly blank = computed(() => isBlank(this.question.value));

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
