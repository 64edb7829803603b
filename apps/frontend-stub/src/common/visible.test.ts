import { expect, it } from "vitest";
import { visible } from "./visible";

it("shows what would turn a name around, and leaves every other character", () => {
  expect(visible("informe\u202efdp.exe")).toBe("informe[U+202E]fdp.exe");
  expect(visible("عقد año 😀 \u200d")).toBe("عقد año 😀 \u200d");
});
