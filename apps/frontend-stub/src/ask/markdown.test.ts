import { describe, expect, it } from "vitest";
import { blocksOf, GrowingMarkdown, type Token } from "./markdown";

const ANSWER = `Primero, una frase [1] con **negrita** y \`código\`.
Sigue la línea.

## Un título

- uno [2]
- dos
  - tres

  otro párrafo de dos

1. primero
2. segundo

| a | b |
|---|---|
| 1 | 2 |

\`\`\`
x = [1]

y
\`\`\`

> cita
sigue

Título de subrayado
===

<div>una etiqueta
---y no una raya

fin`;

const typesIn = (tokens: readonly Token[]): string[] =>
  tokens.flatMap((token) => [token.type, ...typesIn("tokens" in token ? (token.tokens ?? []) : [])]);

describe("blocksOf", () => {
  it("takes HTML, links, images and addresses as text", () => {
    const hostile = '<img src=x onerror="a()"> [a](javascript:b) ![c](d) <https://e.f> https://g.h [i]: j';
    expect(new Set(typesIn(blocksOf(hostile)))).toEqual(new Set(["paragraph", "text"]));
    expect(new Set(typesIn(blocksOf("<script>\nalert(1)\n</script>\n\n[k]: https://l.m")))).toEqual(
      new Set(["paragraph", "text", "space"]),
    );
  });

  it("reads what is nested without end", () => {
    const text = ">".repeat(20_000);
    expect(
      blocksOf(text)
        .map((token) => token.raw)
        .join(""),
    ).toBe(text);
  });
});

describe("GrowingMarkdown", () => {
  it.each([1, 3, 7, 50])("gives in pieces of %i what the whole gives", (size) => {
    const growing = new GrowingMarkdown();
    for (let end = size; end < ANSWER.length + size; end += size) {
      const text = ANSWER.slice(0, end);
      const content = (token: Token) => token.type !== "space";
      expect(growing.blocks(text).filter(content)).toEqual(blocksOf(text).filter(content));
    }
  });

  it("keeps the objects of what is settled", () => {
    const growing = new GrowingMarkdown();
    const [first] = growing.blocks("uno\n\ndos\n\ntres\n\ncuatro");
    expect(growing.blocks("uno\n\ndos\n\ntres\n\ncuatro\n\ncinco")[0]).toBe(first);
  });

  it("begins anew with another text", () => {
    const growing = new GrowingMarkdown();
    growing.blocks("uno\n\ndos\n\ntres\n\ncuatro");
    expect(growing.blocks("otro")).toEqual(blocksOf("otro"));
  });
});
