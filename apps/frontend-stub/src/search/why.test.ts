import { describe, expect, it } from "vitest";
import type { Result } from "../client/api";
import { correctedWords, isByRank, rankConstantOf, whyOf } from "./why";

const RRF = { formula: "score = sum of weight / (rank_constant + rank)", rank_constant: 60 };

function found(parts: Partial<Result>): Result {
  return { rank: 2, score: 0.0325, score_type: "rrf", sources: [], steps: null, ...parts } as Result;
}

function source(name: string, rank: number, contribution: number, weight = 1) {
  return { source: name, rank, score: 0.5, score_type: "bm25", weight, contribution, evidence: null };
}

describe("whyOf", () => {
  it("adds up to the fused score by the formula of reciprocal ranks", () => {
    const why = whyOf(found({ sources: [source("dense", 1, 1 / 61), source("identifiers", 2, 3 / 62, 3)] }), RRF);
    expect(why.sum).toBeCloseTo(1 / 61 + 3 / 62, 12);
    expect(why.bars.map((bar) => bar.share)).toEqual([1 / 61 / (3 / 62), 1]);
  });

  it("keeps the order of the steps, and where each moved the passage", () => {
    const steps = {
      temporal_decay: { factor: 0.5, rank_before: 1, rank_after: 4 },
      deduplication: { removed: 2, rank_before: 4, rank_after: 3 },
      something_new: { rank_before: 3, rank_after: 3 },
    };
    expect(whyOf(found({ steps }), RRF).moves.map(({ step, before, after }) => [step, before, after])).toEqual([
      ["temporal_decay", 1, 4],
      ["deduplication", 4, 3],
      ["something_new", 3, 3],
    ]);
  });

  it("draws no bar of nothing where no list counts", () => {
    expect(whyOf(found({ sources: [source("dense", 1, 0)] }), null).bars[0]?.share).toBe(0);
  });

  it("names a step that was left out where it would have been taken", () => {
    const explanation = {
      ...RRF,
      steps: [
        { step: "visibility", skipped: null },
        { step: "rerank", skipped: "timeout" },
        { step: "diversification", skipped: null },
      ],
    };
    const note = { rank_before: 1, rank_after: 1 };
    const steps = { visibility: note, diversification: note, something_new: note };
    expect(whyOf(found({ steps }), explanation).moves.map(({ step, skipped }) => [step, skipped])).toEqual([
      ["visibility", null],
      ["rerank", "timeout"],
      ["diversification", null],
      ["something_new", null],
    ]);
  });
});

it("has a rank constant only where ranks were fused", () => {
  expect(rankConstantOf(RRF)).toBe(60);
  expect(rankConstantOf({ formula: "score = the source's own score", rank_constant: null })).toBeNull();
});

it("knows the formula of ranks whatever a later step made of the score", () => {
  const reranked = { score: 1, score_type: "relevance" };
  const fused = whyOf(
    found({ ...reranked, sources: [source("full_text", 1, 1 / 61), source("dense", 10, 2 / 70, 2)] }),
    RRF,
  );
  expect(isByRank(fused, RRF)).toBe(true);
  expect(isByRank(whyOf(found({ sources: [source("full_text", 1, 0.5)] }), RRF), RRF)).toBe(false);
  expect(isByRank(fused, null)).toBe(false);
});

it("tells once which word was searched in place of a misspelt one", () => {
  const term = { word: "plaso", lexeme: "plaz", typed: "plas" };
  const right = { word: "entregas", lexeme: "entreg", typed: null };
  expect(correctedWords({ sources: [{ terms: [term, right] }, { terms: [term] }, {}] })).toEqual([
    { typed: "plaso", searched: "plaz" },
  ]);
});
