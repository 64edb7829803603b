import type { Ref } from "preact";
import { MOST_CHARACTERS } from "../common/question";
import type { Draft } from "./draft";
import { texts } from "./messages";

const COMPOSING = 229; // what browsers give for a key that belongs to an input method

type Given = {
  draft: Draft;
  box: Ref<HTMLTextAreaElement>;
  /** What was asked before, oldest first. */
  asked: () => readonly string[];
  answering: boolean;
  ask: () => void;
  stop: () => void;
};

/** The one box. Typing goes on while an answer is given; asking waits until it is over. */
export function Composer({ draft, box, asked, answering, ask, stop }: Given) {
  const say = texts();
  const over = draft.over.value;
  const ready = !answering && !draft.blank.value && over === 0;
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready) ask();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === COMPOSING) return;
    if (event.key === "Enter" && !event.shiftKey) submit(event);
    if (event.key === "ArrowUp" && draft.recall(asked(), 1)) event.preventDefault();
    if (event.key === "ArrowDown" && draft.recall(asked(), -1)) event.preventDefault();
  };
  // one button for both, so that the focus stays; the second click of two is not meant to stop what the first began
  const onClick = (event: MouseEvent) => {
    if (!answering) return;
    event.preventDefault();
    if (event.detail <= 1) stop();
  };
  const onHeld = (event: KeyboardEvent) => {
    if (event.repeat && event.key === "Enter") event.preventDefault(); // a key that is held down would stop it, too
  };
  return (
    <form class="composer" onSubmit={submit}>
      <label class="visually-hidden" for="question">
        {say.question}
      </label>
      <textarea
        id="question"
        ref={box}
        rows={1}
        dir="auto"
        placeholder={say.placeholder}
        value={draft.text.value}
        aria-describedby="question-keys question-over"
        aria-invalid={over > 0}
        onInput={(event) => draft.write(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <button
        type="submit"
        class="button primary"
        aria-disabled={!answering && !ready}
        onClick={onClick}
        onKeyDown={onHeld}
      >
        {answering && <span class="stop-mark" aria-hidden="true" />}
        {answering ? say.stop : say.ask}
      </button>
      <p id="question-over" class="field-error small">
        {over > 0 ? say.tooLong(MOST_CHARACTERS, over) : ""}
      </p>
      {/* told once, and not again with each character */}
      {over > 0 && (
        <p class="visually-hidden" role="alert">
          {say.tooLongTold(MOST_CHARACTERS)}
        </p>
      )}
      <p id="question-keys" class="quiet small keys">
        {say.keys}
      </p>
    </form>
  );
}
