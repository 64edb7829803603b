import { signal } from "@preact/signals";
import type { AnswerCitation, Degraded, Incomplete, Result } from "../client/api";
import type { ApiError } from "../client/errors";
import type { AskEvent } from "../client/events";
import { SLOW_MILLISECONDS } from "../common/loader";

export type Phase = "searching" | "answering" | "done" | "abstained" | "stopped" | "failed";

/**
 * A question and what came of it. What is shown of an answer grows once a frame at most, however many pieces it comes
 * in.
 */
export class Turn {
  readonly phase = signal<Phase>("searching");
  readonly text = signal("");
  /** Nothing of the answer has come for longer than a person waits without a word. */
  readonly slow = signal(false);
  /** What was asked in its place, where that is not the question itself. */
  readonly understood = signal<string | null>(null);
  readonly citations = signal<ReadonlyMap<number, AnswerCitation>>(new Map());
  readonly passages = signal<readonly Result[]>([]);
  readonly degraded = signal<readonly Degraded[]>([]);
  /** Documents behind the answer that were not read whole. */
  readonly incomplete = signal<readonly Incomplete[]>([]);
  readonly error = signal<ApiError | null>(null);

  private received = "";
  private frame: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly id: number,
    readonly question: string,
  ) {}

  get running(): boolean {
    return this.phase.value === "searching" || this.phase.value === "answering";
  }

  begin(): void {
    this.received = "";
    this.text.value = "";
    this.citations.value = new Map();
    this.passages.value = [];
    this.degraded.value = [];
    this.incomplete.value = [];
    this.understood.value = null;
    this.error.value = null;
    this.phase.value = "searching";
    this.timer = setTimeout(() => {
      this.slow.value = true;
    }, SLOW_MILLISECONDS);
  }

  take({ event, data }: AskEvent): void {
    if (event === "status") {
      this.phase.value = data.status;
      this.understood.value = data.rewritten_query ?? this.understood.value;
    } else if (event === "search_results") {
      this.passages.value = data.results;
      this.degraded.value = data.degraded;
    } else if (event === "message") {
      this.grow(data.delta);
    } else if (event === "citation") {
      this.citations.value = new Map([...this.citations.value, [data.n, data]]);
    } else {
      this.understood.value = data.rewritten_query ?? null;
      this.degraded.value = data.degraded;
      this.incomplete.value = data.incomplete;
      this.citations.value = new Map(data.citations.map((citation) => [citation.n, citation]));
      this.received = data.answer;
      this.end(data.abstained ? "abstained" : "done");
    }
  }

  /** What came so far stays. */
  end(phase: "done" | "abstained" | "stopped" | "failed", error: ApiError | null = null): void {
    this.show();
    this.notSlow();
    this.error.value = error;
    this.phase.value = phase;
  }

  private grow(piece: string): void {
    this.received += piece;
    this.notSlow();
    this.frame ??= requestAnimationFrame(() => this.show());
  }

  private show(): void {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.text.value = this.received;
  }

  private notSlow(): void {
    clearTimeout(this.timer);
    this.slow.value = false;
  }
}
