import { pieces, type Span } from "./spans";
import { visible } from "./visible";

/** A name that somebody else gave: a title, a path. It stands alone, whatever direction it is written in. */
export function Name({ children }: { children: string }) {
  return <bdi class="name">{visible(children)}</bdi>;
}

/** A text that somebody else wrote, with parts of it marked. Its line breaks are kept; none of it is markup. */
export function Passage({
  text,
  marks = [],
  class: kind = "",
}: {
  text: string;
  marks?: readonly Span[];
  class?: string;
}) {
  return (
    <div class={`passage ${kind}`} dir="auto">
      {pieces(text, marks).map(({ text: piece, marked }, index) => {
        const key = `${index}`;
        return marked ? <mark key={key}>{visible(piece)}</mark> : <span key={key}>{visible(piece)}</span>;
      })}
    </div>
  );
}
