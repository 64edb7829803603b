import { type ReadonlySignal, signal } from "@preact/signals";
import { ApiError } from "../client/errors";
import { isAbort } from "../client/transport";

/** After so long a person wants to know that something is still going on. */
export const SLOW_MILLISECONDS = 1000;

/** `value` of what is being loaded or failed is what was there before. */
export type Loading<T> =
  | { state: "idle"; value: null }
  | { state: "loading"; slow: boolean; value: T | null }
  | { state: "done"; value: T }
  | { state: "failed"; error: ApiError; value: T | null };

/** One request at a time: the next one gives up the one before, so that no late answer overwrites a newer one. */
export class Loader<T> {
  readonly current: ReadonlySignal<Loading<T>>;
  private readonly state = signal<Loading<T>>({ state: "idle", value: null });
  private controller: AbortController | null = null;

  constructor() {
    this.current = this.state;
  }

  /** Resolves when the request is over, however it ended; an error is in `current`. */
  async run(work: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.controller?.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.state.value = { state: "loading", slow: false, value: this.state.value.value };
    const timer = setTimeout(() => this.setSlow(controller), SLOW_MILLISECONDS);
    try {
      const value = await work(controller.signal);
      if (this.controller === controller) this.state.value = { state: "done", value };
    } catch (error) {
      if (this.controller === controller) this.state.value = this.failed(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Give the request up; what was there before stays. */
  stop(): void {
    this.controller?.abort();
    this.controller = null;
    const { value } = this.state.value;
    this.state.value = value === null ? { state: "idle", value: null } : { state: "done", value };
  }

  private setSlow(controller: AbortController): void {
    const current = this.state.value;
    if (this.controller === controller && current.state === "loading") this.state.value = { ...current, slow: true };
  }

  private failed(error: unknown): Loading<T> {
    const { value } = this.state.value;
    if (isAbort(error)) return value === null ? { state: "idle", value: null } : { state: "done", value };
    if (!(error instanceof ApiError)) reportError(error);
    return { state: "failed", error: error instanceof ApiError ? error : new ApiError("cut"), value };
  }
}
