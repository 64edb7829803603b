import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isPlain } from "./keyboard";
import { texts } from "./messages";
import { MODES, type SearchState } from "./search_state";
import { chooseSlash, slash } from "./shortcut";

const TYPED_MILLISECONDS = 250;

type Props = {
  state: SearchState;
  box: RefObject<HTMLInputElement | null>;
  /** Search what is typed; `settled`: the person said so, rather than paused. */
  search: (settled: boolean) => void;
  enterList: () => void;
};

/** The query and how it is searched. */
export function QueryForm({ state, box, search, enterList }: Props) {
  const say = texts();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <search>
      <form
        class="search-form"
        onSubmit={(event) => {
          event.preventDefault();
          clearTimeout(timer.current);
          search(true);
        }}
      >
        <label class="search-query">
          <span class="visually-hidden">{say.query}</span>
          <input
            ref={box}
            type="search"
            placeholder={say.queryHint}
            autocomplete="off"
            spellcheck={false}
            enterkeyhint="search"
            value={state.typed.value}
            onInput={(event) => {
              state.typed.value = event.currentTarget.value;
              clearTimeout(timer.current);
              timer.current = setTimeout(() => search(false), TYPED_MILLISECONDS);
            }}
            onKeyDown={(event) => {
              if (event.key !== "ArrowDown" || !isPlain(event)) return;
              event.preventDefault();
              enterList();
            }}
          />
        </label>
        <button type="submit" class="button primary">
          {say.submit}
        </button>
        {/* a comparison has its own choice, one for each side */}
        {!state.comparing.value && (
          <fieldset class="search-modes row">
            <legend class="visually-hidden">{say.mode}</legend>
            {MODES.map((mode) => (
              <label key={mode} class="search-mode">
                <input
                  type="radio"
                  name="search-mode"
                  checked={state.mode.value === mode}
                  onChange={() => {
                    state.mode.value = mode;
                  }}
                />
                <span>{say[mode]}</span>
              </label>
            ))}
          </fieldset>
        )}
        <button
          type="button"
          class="button search-compare"
          aria-pressed={state.comparing.value}
          onClick={() => {
            state.comparing.value = !state.comparing.value;
          }}
        >
          {say.compare}
        </button>
      </form>
    </search>
  );
}

/** The keys that work here, for who has a keyboard. */
export function Keys() {
  const say = texts();
  const keys: [string[], string][] = [
    [["↓", "↑", "j", "k"], say.keyMove],
    [[say.keyEnter], say.keyWhy],
    [["o"], say.keyOpen],
    [["Esc"], say.keyBack],
  ];
  return (
    <div class="search-keys quiet small">
      <label class="search-slash">
        <input type="checkbox" checked={slash.value} onChange={(event) => chooseSlash(event.currentTarget.checked)} />
        <span>
          <kbd>/</kbd> {say.keyBox}
        </span>
      </label>
      {keys.map(([names, what]) => (
        <span key={what}>
          {names.map((name) => (
            <kbd key={name}>{name}</kbd>
          ))}{" "}
          {what}
        </span>
      ))}
    </div>
  );
}
