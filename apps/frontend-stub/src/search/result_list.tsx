import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ErrorNotice, Progress } from "../common/notices";
import { go } from "../state/route";
import { keyOf } from "./comparison";
import { isPlain, isTyping, moved } from "./keyboard";
import { texts } from "./messages";
import { placeOf, ResultItem } from "./result_item";
import type { SearchState } from "./search_state";

type Props = { state: SearchState; list: RefObject<HTMLOListElement | null>; leave: () => void };

/** Put the keyboard on a passage of the list. */
export function focusItem(list: RefObject<HTMLOListElement | null>, index: number): void {
  list.current?.querySelectorAll<HTMLElement>("article")[index]?.focus();
}

/** The ranking. One passage of it is in the order of Tab; keys lead to the others. */
export function ResultList({ state, list, leave }: Props) {
  const results = state.results.value;
  const loading = state.loader.current.value;
  const explanation = loading.value?.explanation ?? null;
  const active = Math.min(state.active.value, results.length - 1);

  const pressed = (event: KeyboardEvent) => {
    if (!isPlain(event) || isTyping(event.target)) return;
    const result = results[active];
    const to = moved(event.key, active, results.length);
    const onPassage = event.target instanceof HTMLElement && event.target.matches("article");
    if (to !== null) {
      if (to < 0) leave();
      else focusItem(list, to);
    } else if (event.key === "Escape") leave();
    else if (event.key === "Enter" && onPassage && result) state.toggle(keyOf(result));
    else if (event.key === "o" && result) {
      const place = placeOf(result);
      if (place === null) return;
      go(place);
    } else return;
    event.preventDefault();
  };

  return (
    <ol class="result-list" ref={list} aria-busy={loading.state === "loading"} onKeyDown={pressed}>
      {results.map((result, index) => {
        const key = keyOf(result);
        return (
          <ResultItem
            key={key}
            result={result}
            explanation={explanation}
            current={index === active}
            open={state.opened.value.has(key)}
            toggle={() => state.toggle(key)}
            entered={() => {
              state.active.value = index;
            }}
          />
        );
      })}
    </ol>
  );
}

/** The way to the next page. The focus stays where it is; with the last page it goes to the first passage of that. */
export function MoreResults({ state, list }: Pick<Props, "state" | "list">) {
  const say = texts();
  const following = state.following.current.value;
  const from = useRef<number | null>(null);
  const more = state.hasMore.value;
  const count = state.results.value.length;
  useEffect(() => {
    if (more || from.current === null) return;
    focusItem(list, from.current);
    from.current = null;
  }, [more, list]);
  const ask = () => {
    if (following.state === "loading") return;
    from.current = count;
    void state.more().then(() => {
      if (state.hasMore.peek()) from.current = null;
    });
  };
  return (
    <div class="result-following">
      {following.state === "failed" && <ErrorNotice error={following.error} retry={ask} />}
      {more ? (
        <button type="button" class="button" aria-disabled={following.state === "loading"} onClick={ask}>
          {say.more}
        </button>
      ) : (
        <p class="quiet small">{say.end}</p>
      )}
      {following.state === "loading" && <Progress slow={following.slow} />}
    </div>
  );
}
