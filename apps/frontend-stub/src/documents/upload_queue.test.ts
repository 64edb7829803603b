import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Stored } from "../client/api";
import { ApiError, errorOf } from "../client/errors";
import { AT_ONCE, MAX_ATTEMPTS, UploadQueue } from "./upload_queue";

const found = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ externalId: `${n}.md`, file: new File(["x"], `${n}.md`) }));
const stored = (externalId: string): Stored => ({
  document_id: "",
  external_id: externalId,
  status: "created",
  chunks: 1,
  pending: 0,
  unread: [],
  parts: 0,
});

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("sends two at a time, and all of them", async () => {
  let open = 0;
  let most = 0;
  const queue = new UploadQueue(
    async ({ externalId }) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 10));
      open -= 1;
      return stored(externalId);
    },
    () => undefined,
  );
  queue.add(found(7));
  await vi.advanceTimersByTimeAsync(1000);
  expect(most).toBe(AT_ONCE);
  expect(queue.counts.value).toMatchObject({ done: 7, left: 0 });
});

it("waits as long as the service says, a bounded number of times, and then pauses the rest", async () => {
  const asked: string[] = [];
  const queue = new UploadQueue(
    async ({ externalId }) => {
      asked.push(externalId);
      throw errorOf(503, null, 3);
    },
    () => undefined,
  );
  queue.add(found(20));
  await vi.advanceTimersByTimeAsync(2000);
  expect(asked).toHaveLength(2);
  expect(queue.heldFor.value).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(2 * MAX_ATTEMPTS);
  expect(queue.paused.value?.kind).toBe("unavailable");
  expect(queue.counts.value).toMatchObject({ failed: 2, left: 18 });
});

it("does not send again what the service refuses, and goes on with the others", async () => {
  const queue = new UploadQueue(
    async ({ externalId }) => {
      if (externalId === "0.md") throw new ApiError("refused");
      return stored(externalId);
    },
    () => undefined,
  );
  queue.add(found(3));
  await vi.advanceTimersByTimeAsync(10);
  expect(queue.counts.value).toMatchObject({ done: 2, failed: 1, left: 0 });
});

it("leaves no timer and sends nothing more once it is stopped", async () => {
  const store = vi.fn(async () => {
    throw errorOf(429, null, 2);
  });
  const queue = new UploadQueue(store, () => undefined);
  queue.add(found(5));
  await vi.advanceTimersByTimeAsync(500);
  queue.stop();
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(store).toHaveBeenCalledTimes(2);
  expect(queue.counts.value).toMatchObject({ cancelled: 5, left: 0 });
});

it("sends the last of what was given under a name while it waited, and what is on its way to its end", async () => {
  const sent: string[] = [];
  const queue = new UploadQueue(
    async ({ externalId, file }) => {
      sent.push(await file.text());
      await new Promise((resolve) => setTimeout(resolve, 10));
      return stored(externalId);
    },
    () => undefined,
  );
  const give = (text: string) => queue.add([{ externalId: "a.md", file: new File([text], "a.md") }]);
  for (const text of ["uno", "dos", "tres"]) give(text);
  expect(queue.counts.value).toMatchObject({ total: 2, left: 2 });
  await vi.advanceTimersByTimeAsync(100);
  expect(sent).toEqual(["uno", "tres"]);
  expect(queue.counts.value).toMatchObject({ total: 2, done: 2 });
});

it("knows what is not stored for want of a key", async () => {
  const queue = new UploadQueue(
    async ({ externalId }) => {
      if (externalId === "0.md") return stored(externalId);
      throw errorOf(externalId === "1.md" ? 415 : 401, null, null);
    },
    () => undefined,
  );
  queue.add(found(6));
  await vi.advanceTimersByTimeAsync(100);
  expect(queue.withoutKey().map((each) => each.externalId)).toEqual(["2.md", "3.md", "4.md", "5.md"]);
  queue.cancelAll();
  expect(queue.withoutKey()).toEqual([]);
});

it("gives up a file that never says anything, and goes on with the others", async () => {
  const queue = new UploadQueue(
    async ({ externalId }) => stored(externalId),
    () => undefined,
  );
  const silent = new File(["x"], "tubo.md");
  vi.spyOn(silent, "slice").mockReturnValue({ arrayBuffer: () => new Promise(() => undefined) } as unknown as Blob);
  queue.add(["a.md", "b.md"].map((externalId) => ({ externalId, file: silent })));
  queue.add([{ externalId: "c.md", file: new File(["x"], "c.md") }]);
  await vi.advanceTimersByTimeAsync(100);
  expect(queue.counts.value).toMatchObject({ done: 0, left: 3 });
  for (const upload of queue.uploads.value.slice(0, 2)) queue.cancel(upload);
  await vi.advanceTimersByTimeAsync(100);
  expect(queue.counts.value).toMatchObject({ done: 1, cancelled: 2, left: 0 });
});
