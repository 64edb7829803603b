import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Stored } from "../client/api";
import { ApiError } from "../client/errors";
import type { Sending } from "../client/upload";
import type { Found } from "./dropped";

export const AT_ONCE = 2;
export const MAX_ATTEMPTS = 5;
/** Nobody watches a page for longer than this before it goes on by itself: beyond, the person is asked. */
const MAX_WAIT_SECONDS = 120;
const MAX_BACKOFF_SECONDS = 30;

export type UploadState =
  | { state: "waiting" }
  | { state: "sending" }
  | { state: "indexing" }
  | { state: "done"; stored: Stored }
  /** No error: the browser cannot read the file. */
  | { state: "failed"; error: ApiError | null }
  | { state: "cancelled" };

/** One file on its way. */
export class Upload {
  readonly state = signal<UploadState>({ state: "waiting" });
  /** The part of the file that has been sent, from 0 to 1. */
  readonly sent = signal(0);
  /** How often it was sent without being taken. */
  readonly attempts = signal(0);
  controller = new AbortController();

  constructor(
    readonly id: number,
    readonly externalId: string,
    readonly file: File,
  ) {}

  get isOver(): boolean {
    const { state } = this.state.value;
    return state === "done" || state === "failed" || state === "cancelled";
  }
}

export type Counts = { total: number; done: number; failed: number; cancelled: number; left: number };

type Store = (sending: Sending) => Promise<Stored>;

/**
 * Sends files, two at a time.
 *
 * A service that is busy or out is asked again after the time that it names; all files wait for it together. What does
 * not pass by itself (no answer after five attempts, a key that may not) pauses the rest, so that a thousand files do
 * not fail one by one.
 */
export class UploadQueue {
  readonly uploads = signal<readonly Upload[]>([]);
  readonly counts: ReadonlySignal<Counts>;
  readonly paused: Signal<ApiError | null> = signal(null);
  /** Seconds until the service is asked again; 0 where nothing waits for it. */
  readonly heldFor = signal(0);

  private waiting: Upload[] = [];
  private readonly active = new Set<Upload>();
  private timer: ReturnType<typeof setInterval> | null = null;
  private lastId = 0;

  constructor(
    private readonly store: Store,
    private readonly onStored: (stored: Stored) => void,
  ) {
    this.counts = computed(() => countsOf(this.uploads.value));
  }

  /** Send files. They take the place of those of their names that are over, or wait yet. */
  add(files: readonly Found[]): void {
    const added = files.map(({ externalId, file }) => new Upload(++this.lastId, externalId, file));
    const names = new Set(files.map((each) => each.externalId));
    const replaced = new Set(
      this.uploads.value.filter((upload) => names.has(upload.externalId) && !this.active.has(upload)),
    );
    this.uploads.value = [...this.uploads.value.filter((upload) => !replaced.has(upload)), ...added];
    this.waiting = [...this.waiting.filter((upload) => !replaced.has(upload)), ...added];
    this.pump();
  }

  /** Return the files that are not stored for want of a key. */
  withoutKey(): Found[] {
    if (this.paused.value?.kind !== "unauthorised") return [];
    return this.uploads.value.filter(isForWantOfAKey).map(({ externalId, file }) => ({ externalId, file }));
  }

  cancel(upload: Upload): void {
    if (upload.isOver) return;
    upload.state.value = { state: "cancelled" };
    upload.controller.abort();
    this.waiting = this.waiting.filter((each) => each !== upload);
    if (this.waiting.length === 0) this.release();
  }

  cancelAll(): void {
    this.waiting = [];
    this.release();
    this.paused.value = null;
    for (const upload of this.uploads.value) this.cancel(upload);
  }

  retry(...uploads: Upload[]): void {
    for (const upload of uploads) {
      upload.controller = new AbortController();
      upload.attempts.value = 0;
      upload.sent.value = 0;
      upload.state.value = { state: "waiting" };
      this.waiting.push(upload);
    }
    this.paused.value = null;
    this.pump();
  }

  /** Go on after a pause, with the files that failed for what caused it. */
  goOn(): void {
    const cause = this.paused.value;
    this.retry(
      ...this.uploads.value.filter(
        ({ state: { value } }) => value.state === "failed" && value.error?.kind === cause?.kind,
      ),
    );
  }

  /** Take those that are over off the list. */
  clear(): void {
    this.uploads.value = this.uploads.value.filter((upload) => !upload.isOver);
  }

  /** Give everything up: the page is left, or the key changed. */
  stop(): void {
    this.cancelAll();
  }

  private pump(): void {
    while (this.paused.value === null && this.timer === null && this.active.size < AT_ONCE) {
      const names = new Set(Array.from(this.active, (upload) => upload.externalId));
      const at = this.waiting.findIndex((upload) => !names.has(upload.externalId));
      const [next] = at < 0 ? [] : this.waiting.splice(at, 1);
      if (next === undefined) return;
      void this.send(next);
    }
  }

  private async send(upload: Upload): Promise<void> {
    const { file, externalId, controller } = upload;
    this.active.add(upload);
    upload.state.value = { state: "sending" };
    try {
      if (!(await isReadable(file, controller.signal))) {
        if (!controller.signal.aborted) upload.state.value = { state: "failed", error: null };
        return;
      }
      const sent = (part: number) => {
        upload.sent.value = part;
        if (part === 1 && upload.state.value.state === "sending") upload.state.value = { state: "indexing" };
      };
      controller.signal.throwIfAborted();
      const stored = await this.store({ externalId, file, sent, signal: controller.signal });
      upload.state.value = { state: "done", stored };
      this.onStored(stored);
    } catch (error) {
      if (!controller.signal.aborted) this.failed(upload, error);
    } finally {
      this.active.delete(upload);
      this.pump();
    }
  }

  private failed(upload: Upload, raised: unknown): void {
    const error = raised instanceof ApiError ? raised : new ApiError("cut");
    upload.attempts.value += 1;
    const seconds = error.retryAfter ?? Math.min(2 ** upload.attempts.value, MAX_BACKOFF_SECONDS);
    if (isRetried(error) && upload.attempts.value < MAX_ATTEMPTS && seconds <= MAX_WAIT_SECONDS) {
      upload.sent.value = 0;
      upload.state.value = { state: "waiting" };
      this.waiting.unshift(upload);
      this.hold(Math.max(1, Math.ceil(seconds)));
      return;
    }
    upload.state.value = { state: "failed", error };
    if (error.passes || error.kind === "unauthorised" || error.kind === "forbidden") {
      this.release();
      this.paused.value = error;
    }
  }

  private hold(seconds: number): void {
    this.heldFor.value = Math.max(seconds, this.heldFor.value);
    this.timer ??= setInterval(() => {
      this.heldFor.value -= 1;
      if (this.heldFor.value > 0) return;
      this.release();
      this.pump();
    }, 1000);
  }

  private release(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.heldFor.value = 0;
  }
}

function isForWantOfAKey({ state: { value }, isOver }: Upload): boolean {
  return !isOver || (value.state === "failed" && value.error?.kind === "unauthorised");
}

/** An error of the service's own (500) may be the file's doing: a person decides whether to send it again. */
function isRetried(error: ApiError): boolean {
  return error.passes && error.status !== 500;
}

/**
 * Say whether a file is still what it was when it was given: a browser tells a lost file from a lost service by no other
 * means. Of one that gives nothing at all (a pipe, a drive that is gone) that is never known: `signal` ends the wait.
 */
function isReadable(file: File, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(false), { once: true });
    file
      .slice(0, 1)
      .arrayBuffer()
      .then(
        () => resolve(true),
        () => resolve(false),
      );
  });
}

function countsOf(uploads: readonly Upload[]): Counts {
  const counts: Counts = { total: uploads.length, done: 0, failed: 0, cancelled: 0, left: 0 };
  for (const upload of uploads) {
    const { state } = upload.state.value;
    if (state === "done" || state === "failed" || state === "cancelled") counts[state] += 1;
    else counts.left += 1;
  }
  return counts;
}
