import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../client/errors";
import type { AskEvent } from "../client/events";

type Script = (signal: AbortSignal) => AsyncGenerator<AskEvent>;

const asked: { query: string; conversation_id?: string | null }[] = [];
let script: Script;

vi.mock("../client/transport", () => ({
  isAbort: (error: unknown) => error instanceof DOMException && error.name === "AbortError",
}));
vi.mock("../client/events", () => ({
  askEvents: (body: (typeof asked)[number], signal: AbortSignal) => {
    asked.push(body);
    return script(signal);
  },
}));

const { Conversation } = await import("./conversation");

const delta = (text: string): AskEvent => ({ event: "message", data: { delta: text } });
const final = (answer: string, abstained = false): AskEvent => ({
  event: "final_answer",
  data: {
    request_id: "r",
    answer,
    abstained,
    citations: [],
    degraded: [],
    incomplete: [],
    usage: {},
    rewritten_query: null,
    hydration: null,
  },
});

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

beforeEach(() => {
  asked.length = 0;
  vi.useFakeTimers();
  vi.stubGlobal("requestAnimationFrame", (show: () => void) => setTimeout(show, 16));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("Conversation", () => {
  it("keeps one name through follow-up questions, and takes another with a new conversation", async () => {
    script = async function* () {
      yield final("sí");
    };
    const conversation = new Conversation();
    await conversation.ask("uno");
    await conversation.ask("dos");
    conversation.renew();
    await conversation.ask("tres");
    const [first, second, third] = asked.map((body) => body.conversation_id);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    expect(conversation.turns.value.map((turn) => turn.question)).toEqual(["tres"]);
  });

  it("keeps what came where the answer is stopped", async () => {
    script = async function* (signal) {
      yield delta("a medias");
      await aborted(signal);
    };
    const conversation = new Conversation();
    const over = conversation.ask("uno");
    await vi.advanceTimersByTimeAsync(20);
    expect(await conversation.ask("otra")).toBeNull();
    conversation.stop();
    const turn = await over;
    expect([turn?.phase.value, turn?.text.value]).toEqual(["stopped", "a medias"]);
    expect(conversation.answering.value).toBe(false);
  });

  it("keeps what came where the answer is cut, and begins anew when asked again", async () => {
    script = async function* () {
      yield delta("medio");
      throw new ApiError("cut");
    };
    const conversation = new Conversation();
    const turn = await conversation.ask("uno");
    expect([turn?.phase.value, turn?.text.value, turn?.error.value?.kind]).toEqual(["failed", "medio", "cut"]);
    script = async function* () {
      yield delta("entero");
      yield final("entero");
    };
    if (turn) await conversation.again(turn);
    expect([turn?.phase.value, turn?.text.value, turn?.error.value]).toEqual(["done", "entero", null]);
    expect(conversation.turns.value).toEqual([turn]);
  });

  it("shows pieces once a frame", async () => {
    script = async function* (signal) {
      for (let piece = 0; piece < 100; piece += 1) yield delta("x");
      await aborted(signal);
    };
    const conversation = new Conversation();
    const over = conversation.ask("uno");
    const shown: number[] = [];
    conversation.last.value?.text.subscribe((text) => shown.push(text.length));
    await vi.advanceTimersByTimeAsync(40);
    expect(shown).toEqual([0, 100]);
    conversation.stop();
    await over;
  });

  it("tells that it is slow until the first piece comes", async () => {
    script = async function* () {
      await new Promise((resolve) => setTimeout(resolve, 1500));
      yield delta("por fin");
      yield final("por fin");
    };
    const conversation = new Conversation();
    const over = conversation.ask("uno");
    const turn = conversation.last.value;
    await vi.advanceTimersByTimeAsync(900);
    expect(turn?.slow.value).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(turn?.slow.value).toBe(true);
    await vi.advanceTimersByTimeAsync(1000);
    await over;
    expect(turn?.slow.value).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is not slow once it is over", async () => {
    script = async function* () {
      yield final("ya");
    };
    const turn = await new Conversation().ask("uno");
    await vi.advanceTimersByTimeAsync(5000);
    expect(turn?.slow.value).toBe(false);
  });

  it("tells an abstention from an answer", async () => {
    script = async function* () {
      yield final("No lo encuentro.", true);
    };
    expect((await new Conversation().ask("uno"))?.phase.value).toBe("abstained");
  });
});
