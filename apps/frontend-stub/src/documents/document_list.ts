import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { api, type StoredDocument } from "../client/api";
import { answerOf } from "../client/transport";
import { Loader } from "../common/loader";

const PAGE = 50;
const MAX_PAGE = 200;

/** What is shown of the list; `deleted` and `prefix` are what it was asked for. */
export type Listed = { documents: StoredDocument[]; next: string | null; deleted: boolean; prefix: string };

/** The list of documents: a start of their names, the living or the deleted, page by page. */
export class DocumentList {
  readonly prefix = signal("");
  readonly deleted = signal(false);
  readonly loader = new Loader<Listed>();
  readonly selected = signal<ReadonlySet<string>>(new Set());
  /** Names whose row is gone before the service has said so. */
  readonly hidden = signal<ReadonlySet<string>>(new Set());
  private settled: ReadonlySet<string> = new Set();
  readonly shown: ReadonlySignal<StoredDocument[]>;

  constructor() {
    this.shown = computed(() => {
      const { value } = this.loader.current.value;
      return value?.documents.filter((document) => !this.hidden.value.has(document.external_id)) ?? [];
    });
  }

  /** Load what is asked for anew, as much of it as is shown. */
  async reload(): Promise<void> {
    const before = this.loader.current.value.value;
    const prefix = this.prefix.value;
    const deleted = this.deleted.value;
    const settled = this.settled;
    const same = before?.prefix === prefix && before.deleted === deleted;
    const wanted = Math.max(PAGE, same ? before.documents.length : 0);
    if (!same) this.selected.value = new Set();
    const listed: Listed = { documents: [], next: null, deleted, prefix };
    await this.loader.run(async (signal) => {
      do {
        await extend(listed, Math.min(MAX_PAGE, wanted - listed.documents.length), signal);
      } while (listed.next !== null && listed.documents.length < wanted);
      return listed;
    });
    if (this.loader.current.value.value !== listed) return;
    this.show(settled);
    this.settled = without(this.settled, settled);
  }

  async more(): Promise<void> {
    const { value } = this.loader.current.value;
    if (value === null || value.next === null) return;
    const longer = { ...value, documents: [...value.documents] };
    await this.loader.run(async (signal) => {
      await extend(longer, PAGE, signal);
      return longer;
    });
  }

  hide(names: Iterable<string>): void {
    this.hidden.value = new Set([...this.hidden.value, ...names]);
    this.selected.value = without(this.selected.value, names);
  }

  /** The service has said so: the next list is right about these without being told. */
  settle(names: Iterable<string>): void {
    this.settled = new Set([...this.settled, ...names]);
  }

  show(names: Iterable<string>): void {
    this.hidden.value = without(this.hidden.value, names);
  }

  select(name: string, on: boolean): void {
    const names = new Set(this.selected.value);
    if (on) names.add(name);
    else names.delete(name);
    this.selected.value = names;
  }

  selectAll(on: boolean): void {
    this.selected.value = new Set(on ? this.shown.value.map((document) => document.external_id) : []);
  }
}

async function extend(listed: Listed, limit: number, signal: AbortSignal): Promise<void> {
  const { prefix, deleted, next } = listed;
  const query = { prefix, deleted, limit, ...(next !== null && { cursor: next }) };
  const page = await answerOf(api.GET("/documents", { params: { query }, signal }));
  listed.documents.push(...page.documents);
  listed.next = page.next_cursor;
}

function without(set: ReadonlySet<string>, names: Iterable<string>): ReadonlySet<string> {
  const rest = new Set(set);
  for (const name of names) rest.delete(name);
  return rest;
}
