import { useEffect, useMemo, useRef } from "preact/hooks";
import { common } from "../common/messages";
import { pieces, type Span } from "../common/spans";
import { visible } from "../common/visible";
import { texts } from "./messages";
import type { Shown } from "./passages";
import type { Reader } from "./reader";

const NONE: readonly Span[] = [];
const STILL_FRAMES = 5;
const MOST_FRAMES = 120;

/** The text of the document, passage by passage, with what is marked in it. */
export function Reading({ reader }: { reader: Reader }) {
  const root = useRef<HTMLDivElement>(null);
  const goal = reader.goal.value;
  const passages = reader.passages.value;
  const hit = reader.hits.value[reader.current.value];

  useEffect(() => {
    if (goal === null) return;
    const passage = root.current?.querySelector<HTMLElement>(`[data-index="${goal.index}"]`);
    if (!passage) return;
    if (!goal.found) passage.focus({ preventScroll: true });
    const mark = goal.found ? "mark.current" : reader.query.value === "" && "mark";
    const shown = (mark && passage.querySelector(mark)) || passage;
    return holdInView(shown);
  }, [goal]);

  return (
    <div ref={root} class="reading">
      {passages.map((passage, index) => (
        <Part
          key={passage.chunk.id}
          passage={passage}
          index={index}
          turns={isNewPage(passages[index - 1], passage)}
          marks={reader.marks.value.get(index) ?? NONE}
          current={hit?.index === index ? hit.span.start : null}
        />
      ))}
    </div>
  );
}

/**
 * Take the window to an element, and again as long as what stands around it is still getting its true height: a passage
 * has one only once it is near the window. Return what ends it; so does whoever moves the page.
 */
function holdInView(element: Element): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  for (const name of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(name, () => ended.abort(), { signal, passive: true });
  }
  let before = Number.NaN;
  let still = 0;
  const show = (frames: number) => {
    if (signal.aborted || !element.isConnected) return;
    const { top } = element.getBoundingClientRect();
    still = top === before ? still + 1 : 0;
    if (still === STILL_FRAMES || frames === 0) {
      ended.abort();
      return;
    }
    element.scrollIntoView({ block: isTall(element) ? "start" : "center" });
    before = element.getBoundingClientRect().top;
    requestAnimationFrame(() => show(frames - 1));
  };
  show(MOST_FRAMES);
  return () => ended.abort();
}

/** Say whether in the middle of the window the beginning of an element might be out of it. */
function isTall(element: Element): boolean {
  return element.getBoundingClientRect().height > innerHeight * 0.7;
}

type PartProps = { passage: Shown; index: number; turns: boolean; marks: readonly Span[]; current: number | null };

function Part({ passage, index, turns, marks, current }: PartProps) {
  const say = texts();
  const { chunk, text, lineStart } = passage;
  const where = common().lines(lineStart, chunk.line_end);
  const cut = useMemo(() => placed(text, marks), [text, marks]);
  return (
    <>
      {turns && chunk.page_start !== null && (
        <h3 class="page-mark">{say.pageMark(chunk.page_start, chunk.page_end ?? chunk.page_start)}</h3>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a passage is no set of form fields */}
      <div class="part" role="group" aria-label={where} data-index={index} tabIndex={-1}>
        <span class="where quiet small" aria-hidden="true">
          {where}
        </span>
        <div class="passage" dir="auto">
          {cut.map(({ start, text: piece, marked }) =>
            marked ? (
              <mark key={start} class={start === current ? "current" : ""}>
                {visible(piece)}
              </mark>
            ) : (
              <span key={start}>{visible(piece)}</span>
            ),
          )}
        </div>
      </div>
    </>
  );
}

/** Cut a text into pieces that know the code point at which they start. */
function placed(text: string, marks: readonly Span[]) {
  let offset = 0;
  return pieces(text, marks).map((piece) => {
    const start = offset;
    offset += Array.from(piece.text).length;
    return { ...piece, start };
  });
}

/** Say whether a passage is on other pages than the one before. A passage that covers several does not tell where each begins. */
function isNewPage(before: Shown | undefined, { chunk: { page_start, page_end } }: Shown): boolean {
  return page_start !== null && (page_start !== before?.chunk.page_start || page_end !== before.chunk.page_end);
}
