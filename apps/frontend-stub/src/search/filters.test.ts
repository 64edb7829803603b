import { describe, expect, it } from "vitest";
import { chipsOf, filtersOf, isWrongWay, NOTHING_CHOSEN, toggled, valuesOf, without } from "./filters";

describe("filtersOf", () => {
  it("is null where nothing is chosen", () => {
    expect(filtersOf(NOTHING_CHOSEN)).toBeNull();
  });

  it("takes values of a facet as alternatives, and facets together", () => {
    const chosen = { ...NOTHING_CHOSEN, collection: ["memory"], language: ["es", "en"] };
    expect(filtersOf(chosen)).toEqual({ collection: ["memory"], language: ["es", "en"] });
  });

  it("takes both days of a range, the last one to its end", () => {
    const chosen = { ...NOTHING_CHOSEN, from: "2024-02-28", to: "2024-02-28" };
    expect(filtersOf(chosen)).toEqual({
      occurred_at: { $gte: "2024-02-28T00:00:00Z", $lt: "2024-02-29T00:00:00Z" },
    });
  });

  it("has no bound at the end of all days", () => {
    expect(filtersOf({ ...NOTHING_CHOSEN, to: "9999-12-31" })).toBeNull();
  });

  it("joins months that follow one another, across the year too", () => {
    const chosen = { ...NOTHING_CHOSEN, month: ["2025-01", "2024-12", "2025-03"] };
    expect(filtersOf(chosen)).toEqual({
      $or: [
        { occurred_at: { $gte: "2024-12-01T00:00:00Z", $lt: "2025-02-01T00:00:00Z" } },
        { occurred_at: { $gte: "2025-03-01T00:00:00Z", $lt: "2025-04-01T00:00:00Z" } },
      ],
    });
  });
});

describe("valuesOf", () => {
  const counts = { artifact_type: { policy: 3, contract: 9, email: 3 }, month: { "2024-12": 1, "2025-01": 4 } };

  it("has the most frequent first, then by name; months the newest first", () => {
    expect(valuesOf("artifact_type", counts, NOTHING_CHOSEN).map(({ value }) => value)).toEqual([
      "contract",
      "email",
      "policy",
    ]);
    expect(valuesOf("month", counts, NOTHING_CHOSEN).map(({ value }) => value)).toEqual(["2025-01", "2024-12"]);
  });

  it("keeps what is chosen, though it was not found or nothing was counted", () => {
    const chosen = { ...NOTHING_CHOSEN, language: ["gl"] };
    expect(valuesOf("language", null, chosen)).toEqual([{ value: "gl", count: null, on: true }]);
    expect(valuesOf("language", { language: { es: 2 } }, chosen)).toEqual([
      { value: "es", count: 2, on: false },
      { value: "gl", count: null, on: true },
    ]);
  });
});

describe("what is chosen", () => {
  it("is put on and taken off one by one", () => {
    const chosen = { ...toggled(toggled(NOTHING_CHOSEN, "language", "es"), "language", "en"), from: "2025-01-01" };
    expect(chipsOf(chosen)).toEqual([
      { facet: "language", value: "es" },
      { facet: "language", value: "en" },
      { facet: "from", value: "2025-01-01" },
    ]);
    const left = chipsOf(chosen).reduce(without, chosen);
    expect(left).toEqual(NOTHING_CHOSEN);
  });

  it("may leave no day", () => {
    expect(isWrongWay({ ...NOTHING_CHOSEN, from: "2025-01-02", to: "2025-01-01" })).toBe(true);
    expect(isWrongWay({ ...NOTHING_CHOSEN, from: "2025-01-01", to: "2025-01-01" })).toBe(false);
    expect(isWrongWay({ ...NOTHING_CHOSEN, to: "2025-01-01" })).toBe(false);
  });
});
