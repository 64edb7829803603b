import { computed, signal } from "@preact/signals";
import { ApiError } from "../client/errors";
import { askEvents } from "../client/events";
import { isAbort } from "../client/transport";
import { Turn } from "./turn";

const NAME_BYTES = 16;

/** Questions and answers, one at a time; the service keeps them under a name that nobody can guess. */
export class Conversation {
  readonly turns = signal<readonly Turn[]>([]);
  readonly last = computed(() => this.turns.value.at(-1) ?? null);
  readonly answering = computed(() => this.turns.value.some((turn) => turn.running));

  private name = newName();
  private asked = 0;
  private controller: AbortController | null = null;

  /** Ask, unless an answer is being given. Return the turn once it is over, however it ended. */
  async ask(question: string): Promise<Turn | null> {
    if (this.answering.value) return null;
    this.asked += 1;
    const turn = new Turn(this.asked, question);
    this.turns.value = [...this.turns.value, turn];
    await this.run(turn);
    return turn;
  }

  /** Ask the question of a turn again, in its place. */
  async again(turn: Turn): Promise<void> {
    if (!this.answering.value) await this.run(turn);
  }

  /** The service stops, too: its stream is closed. */
  stop(): void {
    this.controller?.abort();
  }

  renew(): void {
    this.stop();
    this.name = newName();
    this.turns.value = [];
  }

  private async run(turn: Turn): Promise<void> {
    const controller = new AbortController();
    this.controller = controller;
    turn.begin();
    try {
      const body = { query: turn.question, conversation_id: this.name };
      for await (const event of askEvents(body, controller.signal)) turn.take(event);
    } catch (error) {
      if (isAbort(error)) turn.end("stopped");
      else {
        if (!(error instanceof ApiError)) reportError(error);
        turn.end("failed", error instanceof ApiError ? error : new ApiError("cut"));
      }
    }
  }
}

function newName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(NAME_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
