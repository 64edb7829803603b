import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { ApiError } from "./errors";
import type * as events from "./events";

let askEvents: typeof events.askEvents;

const FINAL = 'event: final_answer\r\ndata: {"answer": "Sí 😀", "citations": [], "degraded": []}\r\n\r\n';
const STREAM = `event: status\r\ndata: {"status": "answering"}\r\n\r\nevent: ping\r\ndata: {}\r\n\r\nevent: message\r\ndata: {"delta": "Sí 😀"}\r\n\r\n`;

beforeAll(async () => {
  vi.stubGlobal("document", { baseURI: "http://test.invalid/rag/" });
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("addEventListener", vi.fn());
  askEvents = (await import("./events")).askEvents;
});

afterEach(() => vi.restoreAllMocks());

function answering(bytes: Uint8Array, { size, fails = false }: { size: number; fails?: boolean }): void {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at + size));
      else if (fails) controller.error(new TypeError("network error"));
      else controller.close();
      at += size;
    },
  });
  vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(body, { status: 200 }));
}

async function told(signal = new AbortController().signal): Promise<{ names: string[]; error: ApiError | null }> {
  const names: string[] = [];
  try {
    for await (const { event, data } of askEvents({ query: "¿?" }, signal)) {
      names.push(event === "message" ? `message ${data.delta}` : event);
    }
  } catch (error) {
    return { names, error: error as ApiError };
  }
  return { names, error: null };
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("an answer's events", () => {
  it.each([1, 2, 3, 7, 1000])("come whole, wherever their bytes are cut (%i at a time)", async (size) => {
    answering(bytesOf(STREAM + FINAL), { size });
    expect(await told()).toEqual({ names: ["status", "message Sí 😀", "final_answer"], error: null });
  });

  it.each([true, false])("are cut where the stream ends before the last one (broken: %s)", async (fails) => {
    answering(bytesOf(STREAM), { size: 10, fails });
    const { names, error } = await told();
    expect(names).toEqual(["status", "message Sí 😀"]);
    expect(error?.kind).toBe("cut");
  });

  it("are cut where nothing is heard of the service any more", async () => {
    vi.useFakeTimers();
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(bytesOf(STREAM)) });
    vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(body, { status: 200 }));
    const telling = told();
    await vi.advanceTimersByTimeAsync(46_000);
    expect((await telling).error?.kind).toBe("cut");
    vi.useRealTimers();
  });

  it("end in the problem that the service tells", async () => {
    const problem = { status: 503, code: "answerer_unavailable", detail: "Fuera.", errors: [], request_id: "r" };
    answering(bytesOf(`${STREAM}event: error\r\ndata: ${JSON.stringify(problem)}\r\n\r\n`), { size: 50 });
    const { error } = await told();
    expect(error?.kind).toBe("unavailable");
    expect(error?.problem?.detail).toBe("Fuera.");
  });

  it("are given up with their signal, which is no error of the service", async () => {
    const controller = new AbortController();
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      controller.abort();
      throw new DOMException("", "AbortError");
    });
    expect((await told(controller.signal)).error?.name).toBe("AbortError");
  });

  it("are refused with the field, the limit and the seconds to wait", async () => {
    const problem = { status: 429, code: "too_many_requests", detail: "Espera.", errors: [], request_id: "r" };
    const headers = { "Retry-After": "7", "Content-Type": "application/problem+json" };
    vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response(JSON.stringify(problem), { status: 429, headers }));
    const { error } = await told();
    expect([error?.kind, error?.retryAfter, error?.passes]).toEqual(["busy", 7, true]);
  });

  it("that are not known are passed over", async () => {
    answering(bytesOf(`event: thinking\r\ndata: {}\r\n\r\ndata: []\r\n\r\n${STREAM}${FINAL}`), { size: 1000 });
    expect(await told()).toEqual({ names: ["status", "message Sí 😀", "final_answer"], error: null });
  });

  it.each([
    'event: message\r\ndata: {"delta": null}',
    "event: message\r\ndata: null",
    'event: status\r\ndata: {"status": "sleeping"}',
    "event: search_results\r\ndata: {}",
    'event: citation\r\ndata: {"n": 1}',
    'event: final_answer\r\ndata: {"answer": "", "citations": [null], "degraded": []}',
    "event: error\r\ndata: {}",
  ])("that are broken end the answer: %s", async (broken) => {
    answering(bytesOf(`${STREAM}${broken}\r\n\r\n${FINAL}`), { size: 1000 });
    const { names, error } = await told();
    expect([names, error?.kind]).toEqual([["status", "message Sí 😀"], "cut"]);
  });
});
