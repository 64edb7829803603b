import type { SearchBody } from "../client/api";

/** What a person can narrow a search by, as the service counts it. `month` is of UTC: 2025-03. */
export const FACETS = ["collection", "artifact_type", "language", "month"] as const;
export type Facet = (typeof FACETS)[number];

/** The filters that are on. Days are ISO dates of UTC, both of them in the range; "" is no bound. */
export type Chosen = Readonly<Record<Facet, readonly string[]> & { from: string; to: string }>;

export const NOTHING_CHOSEN: Chosen = { collection: [], artifact_type: [], language: [], month: [], from: "", to: "" };

export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A value of a facet; `count` is null where the search, without filters, did not find it. */
export type FacetValue = { value: string; count: number | null; on: boolean };

/** A filter that is on: a value of a facet, or a bound of the time. */
export type Chip = { facet: Facet | "from" | "to"; value: string };

/** The service knows no instant after it: up to this day is no bound. */
const LAST_DAY = "9999-12-31";

type Filters = NonNullable<SearchBody["filters"]>;
type Times = NonNullable<Filters["occurred_at"]>;

export function toggled(chosen: Chosen, facet: Facet, value: string): Chosen {
  const values = chosen[facet];
  const kept = values.includes(value) ? values.filter((each) => each !== value) : [...values, value];
  return { ...chosen, [facet]: kept };
}

export function without(chosen: Chosen, { facet, value }: Chip): Chosen {
  return facet === "from" || facet === "to" ? { ...chosen, [facet]: "" } : toggled(chosen, facet, value);
}

export function chipsOf(chosen: Chosen): Chip[] {
  const values = FACETS.flatMap((facet) => chosen[facet].map((value) => ({ facet, value })));
  const bounds = (["from", "to"] as const).filter((facet) => chosen[facet] !== "");
  return [...values, ...bounds.map((facet) => ({ facet, value: chosen[facet] }))];
}

/** Return a facet's values: months from the newest, others from the most frequent; those that are on are never missing. */
export function valuesOf(facet: Facet, counts: Counts | null, chosen: Chosen): FacetValue[] {
  const counted = Object.entries(counts?.[facet] ?? {});
  const names = new Set(counted.map(([value]) => value));
  const lost = chosen[facet].filter((value) => !names.has(value));
  const values = [...counted, ...lost.map((value) => [value, null] as const)].map(([value, count]) => ({
    value,
    count,
    on: chosen[facet].includes(value),
  }));
  const byName = (a: FacetValue, b: FacetValue) => (a.value < b.value ? -1 : Number(a.value > b.value));
  if (facet === "month") return values.sort((a, b) => byName(b, a));
  return values.sort((a, b) => (b.count ?? 0) - (a.count ?? 0) || byName(a, b));
}

/** Say whether the bounds of time leave no day. */
export function isWrongWay({ from, to }: Chosen): boolean {
  return from !== "" && to !== "" && to < from;
}

/** Return the filters as the service takes them, null where none is on. Values of one facet are alternatives. */
export function filtersOf(chosen: Chosen): Filters | null {
  const filters: Filters = {};
  if (chosen.collection.length > 0) filters.collection = [...chosen.collection];
  if (chosen.artifact_type.length > 0) filters.artifact_type = [...chosen.artifact_type];
  if (chosen.language.length > 0) filters.language = [...chosen.language];
  const bounds: Times = {};
  if (chosen.from !== "") bounds.$gte = `${chosen.from}T00:00:00Z`;
  if (chosen.to !== "" && chosen.to < LAST_DAY) bounds.$lt = dayAfter(chosen.to);
  if (Object.keys(bounds).length > 0) filters.occurred_at = bounds;
  const months = rangesOf(chosen.month);
  if (months.length > 0) filters.$or = months.map((occurred_at) => ({ occurred_at }));
  return Object.keys(filters).length > 0 ? filters : null;
}

/** Return the times of months; months that follow one another are one range, as conditions are limited. */
function rangesOf(months: readonly string[]): Times[] {
  const ranges: { $gte: string; $lt: string }[] = [];
  for (const month of [...months].sort()) {
    const [start, end] = [monthStart(month, 0), monthStart(month, 1)];
    const last = ranges.at(-1);
    if (last?.$lt === start) last.$lt = end;
    else ranges.push({ $gte: start, $lt: end });
  }
  return ranges;
}

function monthStart(month: string, later: number): string {
  const [year, index] = month.split("-").map(Number);
  return instant(Date.UTC(year ?? 0, (index ?? 1) - 1 + later));
}

function dayAfter(day: string): string {
  return instant(Date.parse(`${day}T00:00:00Z`) + 24 * 60 * 60 * 1000);
}

function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(".000Z", "Z");
}
