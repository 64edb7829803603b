import { expect, it } from "vitest";
import { localeOf } from "./locale";

it("writes dates and numbers as where the reader is, if that speaks the language", () => {
  expect(localeOf("en", ["es-ES", "en-GB", "en-US"])).toBe("en-GB");
  expect(localeOf("es", ["es-MX", "es"])).toBe("es-MX");
  expect(localeOf("es", ["en-GB", "est-EE", "es"])).toBe("es");
});
