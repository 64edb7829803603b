import type { Result } from "../client/api";

/** One list's part in a result's score. `share` is the part of the widest bar, 0 to 1. */
export type SourceBar = {
  source: string;
  rank: number;
  score: number;
  scoreType: string;
  weight: number;
  contribution: number;
  share: number;
  lexemes: { lexeme: string; times: number; contribution: number }[];
};

export type StepMove = {
  step: string;
  /** Places in the window before and after the step; null where it was not told. */
  before: number | null;
  after: number | null;
  note: Readonly<Record<string, unknown>>;
  /** Why it was not taken, by a code; null where it was. */
  skipped: string | null;
};

export type Why = {
  bars: SourceBar[];
  /** What the lists' parts add up to: the score before the steps. */
  sum: number;
  /** What steps did to it, in their order; those that were left out stand where they would have been taken. */
  moves: StepMove[];
  rank: number;
  score: number;
  scoreType: string;
};

type Explanation = Readonly<Record<string, unknown>> | null;

/** Return why a result ranks where it does, in the order in which it came about. Unknown lists and steps are kept. */
export function whyOf(result: Result, explanation: Explanation): Why {
  const widest = Math.max(0, ...result.sources.map((each) => Math.abs(each.contribution)));
  return {
    bars: result.sources.map((each) => ({
      source: each.source,
      rank: each.rank,
      score: each.score,
      scoreType: each.score_type,
      weight: each.weight,
      contribution: each.contribution,
      share: widest === 0 ? 0 : Math.abs(each.contribution) / widest,
      lexemes: (each.evidence?.lexemes ?? []).map(({ lexeme, tf, contribution }) => ({
        lexeme,
        times: tf,
        contribution,
      })),
    })),
    sum: result.sources.reduce((sum, each) => sum + each.contribution, 0),
    moves: movesOf(result, explanation),
    rank: result.rank,
    score: result.score,
    scoreType: result.score_type,
  };
}

/** Return the rank constant k that Reciprocal Rank Fusion used; null where ranks were not fused. */
export function rankConstantOf(explanation: Explanation): number | null {
  const constant = explanation?.rank_constant;
  return typeof constant === "number" && String(explanation?.formula).includes("rank") ? constant : null;
}

/** Say whether each list gave its weighted rank; what a later step made of the sum does not matter. */
export function isByRank(why: Why, explanation: Explanation): boolean {
  const constant = rankConstantOf(explanation);
  if (constant === null || why.bars.length === 0) return false;
  return why.bars.every(({ weight, rank, contribution }) => close(contribution, weight / (constant + rank)));
}

/** Words of the query that the documents lack, each with the nearest lexeme that they hold: it was searched instead. */
export function correctedWords(explanation: Explanation): { typed: string; searched: string }[] {
  const found = new Map<string, string>();
  for (const source of list(explanation?.sources)) {
    for (const term of list(record(source).terms)) {
      const { word, typed, lexeme } = record(term); // `typed` is the lexeme of the word, where another was searched
      if (typeof word !== "string" || typeof typed !== "string" || typeof lexeme !== "string") continue;
      if (typed !== lexeme) found.set(word, lexeme);
    }
  }
  return [...found].map(([typed, searched]) => ({ typed, searched }));
}

function close(one: number, other: number): boolean {
  return Math.abs(one - other) < 1e-9;
}

function movesOf(result: Result, explanation: Explanation): StepMove[] {
  const taken = Object.entries(result.steps ?? {}).map(([step, note]) => moveOf(step, record(note)));
  const order = list(explanation?.steps).map(record);
  const moves: StepMove[] = [];
  for (const { step, skipped } of order) {
    if (typeof skipped === "string") moves.push({ ...moveOf(String(step), {}), skipped });
    else moves.push(...taken.filter((move) => move.step === step));
  }
  return [...moves, ...taken.filter((move) => !order.some(({ step }) => step === move.step))];
}

function moveOf(step: string, note: Readonly<Record<string, unknown>>): StepMove {
  return { step, before: place(note.rank_before), after: place(note.rank_after), note, skipped: null };
}

function place(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
