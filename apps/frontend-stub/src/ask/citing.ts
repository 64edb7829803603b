import type { AnswerCitation, Result } from "../client/api";

/** A citation whose passage is open, below the part of the answer named `at`. */
export type Opened = { at: string; n: number };

/** What the parts of an answer need to show its citations. */
export type Citing = {
  known: ReadonlyMap<number, AnswerCitation>;
  passages: readonly Result[];
  opened: Opened | null;
  /** Tells the cards of one answer from those of another. */
  answer: number;
  toggle: (opened: Opened, opener: HTMLElement) => void;
  close: () => void;
};

export function cardId({ answer }: Citing, { at, n }: Opened): string {
  return `passage-${answer}-${at}-${n}`;
}

export function isOpen({ opened }: Citing, { at, n }: Opened): boolean {
  return opened !== null && opened.at === at && opened.n === n;
}
