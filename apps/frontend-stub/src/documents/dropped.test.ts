import { expect, it } from "vitest";
import { chosen, isSkipped } from "./dropped";

it("leaves out what no person has written", () => {
  const skipped = [".DS_Store", "a/.git/config", "a/Thumbs.db", "~$acta.docx", "__MACOSX/x.md"];
  expect(skipped.filter((path) => !isSkipped(path))).toEqual([]);
  expect(["acta.docx", "a.b/c~1.md", "notas/v1.2.md"].filter(isSkipped)).toEqual([]);
});

it("names a file in one form of Unicode, however its system writes it", () => {
  expect(chosen([new File([], "an\u0303o.md")]).found[0]?.externalId).toBe("a\u00f1o.md");
});
