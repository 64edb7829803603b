import { expect, it } from "vitest";
import { chosen, isSkipped } from "./dropped";

it("leaves out what no person has written", () => {
  const skipped = [".DS_Store", "a/.git/config", "a/Thumbs.db", "~$acta.docx", "__MACOSX/x.md"];
  expect(skipped.filter((path) => !isSkipped(path))).toEqual([]);
  expect(["acta.docx", "a.b/c~1.md", "notas/v1.2.md"].filter(isSkipped)).toEqual([]);
});

it("names a file in one form of Unicode, however its system writes it", () => {
  expect(chosen([new File(["x"], "an\u0303o.md")]).found[0]?.externalId).toBe("a\u00f1o.md");
});

it("leaves out files without content", () => {
  const { found, empty } = chosen([new File([], "__init__.py"), new File(["x"], "a.py")]);
  expect(found.map(({ externalId }) => externalId)).toEqual(["a.py"]);
  expect(empty).toEqual(["__init__.py"]);
});

it("sends no second file under a name that the first one has", () => {
  const [first, other, second] = ["an\u0303o.md", "b.md", "a\u00f1o.md"].map((name) => new File([name], name));
  const { found, alike } = chosen([first, other, second] as File[]);
  expect(found.map(({ file }) => file)).toEqual([first, other]);
  expect(alike).toEqual(["a\u00f1o.md"]);
});
