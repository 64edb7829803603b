import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { api, type DescribedDocument } from "../client/api";
import { answerOf } from "../client/transport";
import { Loader } from "../common/loader";
import type { Span } from "../common/spans";
import type { Place } from "../state/route";
import { type Hit, hitsIn } from "./find";
import { continued, type Located, locate, reaches, type Shown, type StoredChunk } from "./passages";

const FIRST = 50;
const PAGE = 200;
/** So many hits about the current one are marked: a letter may be found a hundred thousand times. */
const MARKED = 500;

/**
 * Where the reader is taken: `at` grows, so that the same passage can be gone to again. `found`: to what is looked for
 * in it, while the focus stays where that is typed.
 */
export type Goal = { index: number; at: number; found: boolean };

/** A document that is being read: its passages as far as they are loaded, a place in it, and what is looked for. */
export class Reader {
  readonly document = new Loader<DescribedDocument>();
  readonly loader = new Loader<null>();
  readonly passages = signal<readonly Shown[]>([]);
  readonly complete = signal(false);
  readonly located = signal<Located | null>(null);
  /** The place was looked for in all of the document, and is not there as it was. */
  readonly lost = signal(false);
  readonly goal = signal<Goal | null>(null);
  readonly query = signal("");
  readonly hits: ReadonlySignal<Hit[]>;
  readonly current = signal(0);
  readonly marks: ReadonlySignal<ReadonlyMap<number, Span[]>>;
  private readonly block: ReadonlySignal<number>;

  private next: string | null = null;
  private again: () => Promise<void> = async () => undefined;

  constructor(readonly id: string) {
    this.hits = computed(() => {
      const texts = this.passages.value.map((passage) => passage.text);
      return hitsIn(texts, this.query.value);
    });
    this.block = computed(() => Math.floor(this.current.value / MARKED));
    this.marks = computed(() => {
      if (this.query.value.trim() === "") return this.located.value?.marks ?? new Map();
      const marks = new Map<number, Span[]>();
      const from = (this.block.value - 1) * MARKED;
      for (const { index, span } of this.hits.value.slice(Math.max(0, from), from + 3 * MARKED)) {
        const spans = marks.get(index);
        if (spans) spans.push(span);
        else marks.set(index, [span]);
      }
      return marks;
    });
  }

  async open(place: Place): Promise<void> {
    this.again = () => this.open(place);
    this.lost.value = false;
    const asked = Object.keys(place).length > 0;
    if (this.document.current.value.state !== "done") void this.describe();
    await this.load((passages) => !asked || reaches(passages, place));
    if (!asked || this.loader.current.value.state !== "done") return;
    const located = locate(this.passages.value, place);
    this.located.value = located;
    this.lost.value = located === null || !located.exact;
    if (located) this.goTo(located.target);
  }

  async more(): Promise<void> {
    const { length } = this.passages.value;
    if (this.loader.current.value.state !== "loading") await this.load((passages) => passages.length > length);
  }

  async find(query: string): Promise<void> {
    this.query.value = query;
    this.current.value = 0;
    this.again = () => this.find(query);
    if (query.trim() === "") return;
    this.goToHit();
    await this.load(() => false);
    if (this.query.value === query) this.goToHit();
  }

  step(by: number): void {
    const { length } = this.hits.value;
    if (length === 0) return;
    this.current.value = (this.current.value + by + length) % length;
    this.goToHit();
  }

  /** Go to a page, or in a document without pages to a passage, by its number from 1 on; beyond the last, to that. */
  async jump(number: number, paged: boolean): Promise<void> {
    this.again = () => this.jump(number, paged);
    if (paged) await this.load((passages) => reaches(passages, { page: number }));
    else await this.load((passages) => passages.length >= number);
    const { value: passages } = this.passages;
    const index = paged ? passages.findIndex(({ chunk }) => (chunk.page_end ?? 0) >= number) : number - 1;
    if (passages.length > 0) this.goTo(passages[index] ? index : passages.length - 1);
  }

  retry(): void {
    void this.again();
  }

  goTo(index: number, found = false): void {
    this.goal.value = { index, at: (this.goal.value?.at ?? 0) + 1, found };
  }

  stop(): void {
    this.document.stop();
    this.loader.stop();
  }

  private async describe(): Promise<void> {
    const params = { path: { external_id: this.id } };
    await this.document.run((signal) => answerOf(api.GET("/documents/{external_id}", { params, signal })));
  }

  private async load(enough: (passages: readonly Shown[]) => boolean): Promise<void> {
    await this.loader.run(async (signal) => {
      while (this.passages.value.length === 0 || !enough(this.passages.value)) {
        if (this.complete.value) break;
        await this.extend(signal);
      }
      return null;
    });
  }

  private async extend(signal: AbortSignal): Promise<void> {
    const shown = this.passages.value;
    const query = {
      artifact: this.id,
      limit: shown.length === 0 ? FIRST : PAGE,
      ...(this.next !== null && { cursor: this.next }),
    };
    const params = { path: { collection: "artifact_chunks" as const }, query };
    const page = await answerOf(api.GET("/collections/{collection}/items", { params, signal }));
    const chunks = page.items.filter((item): item is StoredChunk => "chunk_index" in item);
    this.passages.value = [...shown, ...continued(shown.at(-1)?.chunk ?? null, chunks)];
    this.next = page.next_cursor;
    this.complete.value = page.next_cursor === null;
  }

  private goToHit(): void {
    const hit = this.hits.value[this.current.value];
    if (hit) this.goTo(hit.index, true);
  }
}
