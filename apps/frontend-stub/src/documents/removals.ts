import { signal } from "@preact/signals";
import { api, type StoredDocument } from "../client/api";
import { ApiError } from "../client/errors";
import { answerOf } from "../client/transport";

const AT_ONCE = 3;

export type RemovalState = "deleting" | "deleted" | "restoring" | "restored";

/** Documents that were deleted together, and can be brought back together. */
export class Removal {
  readonly state = signal<RemovalState>("deleting");
  /** Those that are deleted. */
  readonly documents = signal<readonly StoredDocument[]>([]);
  /** How many stayed as they were, and why the last of them did. */
  readonly failures = signal<{ count: number; error: ApiError } | null>(null);
  /** The names of all that were to be deleted. */
  readonly names: ReadonlySet<string>;
  /** `failures` are of bringing back, and not of deleting. */
  undoTried = false;
  /** Settles when the deletion is over. */
  finished: Promise<void> = Promise.resolve();

  constructor(
    readonly id: number,
    asked: readonly StoredDocument[],
  ) {
    this.documents.value = asked;
    this.names = new Set(asked.map((document) => document.external_id));
  }
}

/** What the list does while documents go and come back. */
export type Rows = {
  hide(names: Iterable<string>): void;
  show(names: Iterable<string>): void;
  settle(names: Iterable<string>): void;
  reload(): Promise<void>;
};

/** Deletes documents, and brings them back. A row goes at once, and returns if the service refuses. */
export class Removals {
  readonly current = signal<readonly Removal[]>([]);
  private lastId = 0;

  constructor(private readonly rows: Rows) {}

  remove(documents: readonly StoredDocument[]): Removal {
    const removal = new Removal(++this.lastId, documents);
    this.rows.hide(documents.map((document) => document.external_id));
    this.current.value = [...this.current.value, removal];
    removal.finished = this.delete(removal);
    return removal;
  }

  /** Bring back what was deleted. Raises nothing: what stays deleted is in `failures`. */
  async undo(removal: Removal): Promise<void> {
    await removal.finished;
    if (removal.state.value !== "deleted") return;
    removal.undoTried = true;
    removal.failures.value = null;
    removal.state.value = "restoring";
    const failed = await each(removal.documents.value, restore);
    removal.documents.value = failed.map(({ document }) => document);
    removal.failures.value = summary(failed);
    removal.state.value = failed.length > 0 ? "deleted" : "restored";
    await this.rows.reload();
  }

  dismiss(removal: Removal): void {
    this.current.value = this.current.value.filter((other) => other !== removal);
  }

  private async delete(removal: Removal): Promise<void> {
    const asked = removal.documents.value;
    const failed = await each(asked, erase);
    const stayed = new Set(failed.map(({ document }) => document));
    removal.documents.value = asked.filter((document) => !stayed.has(document));
    removal.failures.value = summary(failed);
    removal.state.value = "deleted";
    this.rows.show(failed.map(({ document }) => document.external_id));
    this.rows.settle(removal.documents.value.map((document) => document.external_id));
    void this.rows.reload();
  }
}

/** Bring a document back; one that somebody else brought back is there, as was wanted. */
export async function restore(name: string): Promise<void> {
  const params = { path: { external_id: name } };
  try {
    await answerOf(api.POST("/documents/{external_id}/restore", { params }));
  } catch (error) {
    if (!(error instanceof ApiError && error.kind === "missing")) throw error;
    await answerOf(api.GET("/documents/{external_id}", { params }));
  }
}

async function erase(name: string): Promise<void> {
  try {
    await answerOf(api.DELETE("/documents/{external_id}", { params: { path: { external_id: name } } }));
  } catch (error) {
    if (!(error instanceof ApiError && error.kind === "missing")) throw error; // else somebody was faster
  }
}

type Failure = { document: StoredDocument; error: ApiError };

async function each(documents: readonly StoredDocument[], work: (name: string) => Promise<void>): Promise<Failure[]> {
  const failed: Failure[] = [];
  const left = documents.values();
  const one = async () => {
    for (const document of left) {
      try {
        await work(document.external_id);
      } catch (error) {
        failed.push({ document, error: error instanceof ApiError ? error : new ApiError("cut") });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return failed;
}

function summary(failed: readonly Failure[]): { count: number; error: ApiError } | null {
  const last = failed.at(-1);
  return last === undefined ? null : { count: failed.length, error: last.error };
}
