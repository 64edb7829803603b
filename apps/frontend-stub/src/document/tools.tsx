import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { texts } from "./messages";
import type { Reader } from "./reader";

const TYPED_MILLISECONDS = 250;

/** Looks for words in the document, and goes to a page or a passage by its number. */
export function Tools({ reader }: { reader: Reader }) {
  return (
    <div class="reading-tools">
      <Find reader={reader} />
      <Jump reader={reader} />
    </div>
  );
}

function Find({ reader }: { reader: Reader }) {
  const say = texts();
  const typed = useSignal("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const { length } = reader.hits.value;

  const find = () => {
    clearTimeout(timer.current);
    void reader.find(typed.value);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (reader.query.value !== typed.value) find();
    else reader.step(event.shiftKey ? -1 : 1);
  };
  return (
    <div class="row">
      <label class="row">
        <span class="small">{say.find}</span>
        <input
          type="search"
          autocomplete="off"
          maxLength={300}
          value={typed.value}
          onKeyDown={pressed}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
            clearTimeout(timer.current);
            timer.current = setTimeout(find, TYPED_MILLISECONDS);
          }}
        />
      </label>
      <button
        type="button"
        class="button"
        disabled={length === 0}
        aria-label={say.previous}
        onClick={() => reader.step(-1)}
      >
        ↑
      </button>
      <button type="button" class="button" disabled={length === 0} aria-label={say.next} onClick={() => reader.step(1)}>
        ↓
      </button>
      <span class="small" role="status">
        {reader.query.value.trim() !== "" && say.hits(reader.current.value + 1, length, reader.complete.value)}
      </span>
    </div>
  );
}

function Jump({ reader }: { reader: Reader }) {
  const say = texts();
  const typed = useSignal("");
  const paged = reader.passages.value.some(({ chunk }) => chunk.page_start !== null);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.value !== "") void reader.jump(Math.max(1, Number(typed.value)), paged);
      }}
    >
      <label class="row">
        <span class="small">{paged ? say.page : say.passage}</span>
        <input
          type="text"
          class="short"
          inputMode="numeric"
          maxLength={7}
          autocomplete="off"
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value.replace(/\D/g, "");
            event.currentTarget.value = typed.value; // of what is no digit nothing is kept
          }}
        />
      </label>
      <button type="submit" class="button">
        {say.go}
      </button>
    </form>
  );
}
