import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import type * as loading from "./loader";

let Loader: typeof loading.Loader;

beforeAll(async () => {
  vi.stubGlobal("document", { baseURI: "http://test.invalid/" });
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("addEventListener", vi.fn());
  Loader = (await import("./loader")).Loader;
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("keeps the newest answer, however late an older one comes", async () => {
  const loader = new Loader<string>();
  let answerLate = (_: string) => undefined as undefined;
  const late = loader.run(() => new Promise<string>((resolve) => (answerLate = (text) => void resolve(text))));
  await loader.run(async () => "new");
  answerLate("old");
  await late;
  expect(loader.current.value).toEqual({ state: "done", value: "new" });
});

it("gives the request before up", async () => {
  const loader = new Loader<string>();
  let given: AbortSignal | undefined;
  void loader.run((signal) => {
    given = signal;
    return new Promise<string>(() => undefined);
  });
  await loader.run(async () => "b");
  expect(given?.aborted).toBe(true);
});

it("says after a second that it takes long, and shows what was there before", async () => {
  const loader = new Loader<string>();
  await loader.run(async () => "before");
  void loader.run(() => new Promise<string>(() => undefined));
  vi.advanceTimersByTime(999);
  expect(loader.current.value).toEqual({ state: "loading", slow: false, value: "before" });
  vi.advanceTimersByTime(1);
  expect(loader.current.value).toEqual({ state: "loading", slow: true, value: "before" });
  loader.stop();
  expect(loader.current.value).toEqual({ state: "done", value: "before" });
});

it("takes no abortion for a failure, and every other error for one", async () => {
  const loader = new Loader<string>();
  await loader.run(async () => {
    throw new DOMException("", "AbortError");
  });
  expect(loader.current.value.state).toBe("idle");
  vi.stubGlobal("reportError", vi.fn());
  await loader.run(async () => {
    throw new Error("a fault of ours");
  });
  expect(loader.current.value.state).toBe("failed");
  expect(reportError).toHaveBeenCalled();
});
