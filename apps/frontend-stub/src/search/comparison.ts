import type { Result } from "../client/api";

/** Where a passage of one list stands in the other: places are ranks, from 1; null where the other lacks it. */
export type Twin = { key: string; own: number; other: number | null };

/** A line between a passage's places in two lists. */
export type Line = { key: string; left: number; right: number; kind: Movement };

/** How a passage stands in a list against another: higher up, lower down, at the same place, or only there. */
export type Movement = "up" | "down" | "same" | "alone";

/** Return what tells a passage from all others. */
export function keyOf(result: Pick<Result, "collection" | "id">): string {
  return `${result.collection}:${result.id}`;
}

/** Return for each passage of `own` where it stands in `other`. */
export function twins(own: readonly Result[], other: readonly Result[]): Twin[] {
  const places = new Map(other.map((result, index) => [keyOf(result), index + 1]));
  return own.map((result, index) => {
    const key = keyOf(result);
    return { key, own: index + 1, other: places.get(key) ?? null };
  });
}

export function movement({ own, other }: Pick<Twin, "own" | "other">): Movement {
  if (other === null) return "alone";
  if (own === other) return "same";
  return own < other ? "up" : "down";
}

/** Return a line for each passage that both lists hold, in the order of the left one. `kind` is how it went rightwards. */
export function lines(left: readonly Result[], right: readonly Result[]): Line[] {
  return twins(left, right).flatMap(({ key, own, other }) =>
    other === null ? [] : [{ key, left: own, right: other, kind: movement({ own: other, other: own }) }],
  );
}
