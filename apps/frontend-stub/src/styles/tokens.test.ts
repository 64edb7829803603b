import { describe, expect, it } from "vitest";

import tokens from "./tokens.css?raw";

/** Return a token's colours as light and dark, each as its three channels of 0 to 1. */
function colours(name: string): number[][] {
  const pair = new RegExp(`--${name}: light-dark\\(#(\\w{6}), #(\\w{6})\\)`).exec(tokens);
  if (!pair) throw new Error(`no token ${name}`);
  return [pair[1], pair[2]].map((hex) =>
    [0, 2, 4].map((at) => Number.parseInt(String(hex).slice(at, at + 2), 16) / 255),
  );
}

/** Relative luminance, WCAG 2.2. */
function luminance(channels: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = channels.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrasts(text: string, ground: string): number[] {
  return colours(text).map((colour, theme) => {
    const [a = 0, b = 0] = [luminance(colour), luminance(colours(ground)[theme] ?? [])].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}

const GROUNDS = ["ground", "surface", "raised"];
const TEXTS = ["text", "quiet", "accent", "good", "warning", "error"];

describe.each(GROUNDS)("on %s", (ground) => {
  it.each(TEXTS)("%s is read (WCAG 1.4.3)", (text) => {
    for (const contrast of contrasts(text, ground)) expect(contrast).toBeGreaterThanOrEqual(4.5);
  });

  it.each(["control-edge", "source-1", "source-2", "source-3", "source-4", "source-5"])(
    "%s is seen (1.4.11)",
    (edge) => {
      for (const contrast of contrasts(edge, ground)) expect(contrast).toBeGreaterThanOrEqual(3);
    },
  );
});

it.each([
  ["on-mark", "mark"],
  ["on-accent", "accent"],
  ["text", "warning-ground"],
  ["text", "error-ground"],
  ["quiet", "warning-ground"],
  ["quiet", "error-ground"],
  ["accent", "warning-ground"],
  ["accent", "error-ground"],
])("%s on %s is read", (text, ground) => {
  for (const contrast of contrasts(text, ground)) expect(contrast).toBeGreaterThanOrEqual(4.5);
});
