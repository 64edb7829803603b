import { useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Name } from "../common/text";
import { number } from "../i18n/messages";
import { chipLabel, valueLabel } from "./facet_labels";
import { chipsOf, FACETS, type Facet, isWrongWay, NOTHING_CHOSEN, toggled, valuesOf, without } from "./filters";
import { texts } from "./messages";
import type { SearchState } from "./search_state";

const WIDE = "(min-width: 60rem)";

/** What the search can be narrowed by: beside the list, or folded above it where there is no room. */
export function Facets({ state }: { state: SearchState }) {
  const say = texts();
  const wide = useMedia(WIDE);
  const on = chipsOf(state.chosen.value).length;
  const inner = <Choices state={state} />;
  if (wide)
    return (
      <aside class="search-facets" aria-label={say.filters}>
        {inner}
      </aside>
    );
  return (
    <details class="search-facets card">
      <summary>{on === 0 ? say.filters : say.filtersOn(on)}</summary>
      {inner}
    </details>
  );
}

function Choices({ state }: { state: SearchState }) {
  const say = texts();
  const uncounted = state.results.value.length > 0 && state.counts.value === null;
  return (
    <>
      {state.asked.value !== "" && <p class="quiet small">{uncounted ? say.notCounted : say.counted}</p>}
      {FACETS.map((facet) => (
        <Values key={facet} state={state} facet={facet}>
          {facet === "month" && <Dates state={state} />}
        </Values>
      ))}
    </>
  );
}

function Values({ state, facet, children }: { state: SearchState; facet: Facet; children: ComponentChildren }) {
  const say = texts();
  const values = valuesOf(facet, state.counts.value, state.chosen.value);
  return (
    <fieldset class="search-facet">
      <legend>{say[facet]}</legend>
      {values.length === 0 && <p class="quiet small">{say.none}</p>}
      <div class="search-values">
        {values.map(({ value, count, on }) => (
          <label key={value} class="search-value">
            <input
              type="checkbox"
              checked={on}
              onChange={() => {
                state.chosen.value = toggled(state.chosen.value, facet, value);
              }}
            />
            <Name>{valueLabel(facet, value)}</Name>
            <span class="quiet search-count">{count === null ? "–" : number(count)}</span>
          </label>
        ))}
      </div>
      {children}
    </fieldset>
  );
}

function Dates({ state }: { state: SearchState }) {
  const say = texts();
  const chosen = state.chosen.value;
  const wrong = isWrongWay(chosen);
  const id = useId();
  return (
    <div class="search-dates">
      {(["from", "to"] as const).map((bound) => (
        <label key={bound}>
          <span class="small">{say[bound]}</span>
          <input
            type="date"
            min="0001-01-01"
            max="9998-12-31"
            value={chosen[bound]}
            aria-invalid={wrong}
            aria-describedby={wrong ? id : undefined}
            onChange={(event) => {
              state.chosen.value = { ...state.chosen.value, [bound]: event.currentTarget.value };
            }}
          />
        </label>
      ))}
      <p id={id} class="field-error small" role="alert">
        {wrong ? say.wrongWay : ""}
      </p>
    </div>
  );
}

/** The filters that are on, each with the way to take it off. */
export function Chips({ state, box }: { state: SearchState; box: RefObject<HTMLInputElement | null> }) {
  const say = texts();
  const list = useRef<HTMLUListElement>(null);
  const removed = useRef(false);
  const chips = chipsOf(state.chosen.value);
  useEffect(() => {
    if (!removed.current) return;
    removed.current = false;
    (list.current?.querySelector("button") ?? box.current)?.focus();
  }, [chips.length, box]);
  const remove = (next: typeof state.chosen.value) => {
    removed.current = true;
    state.chosen.value = next;
  };
  if (chips.length === 0) return null;
  return (
    <ul class="search-chips row" aria-label={say.filters} ref={list}>
      {chips.map((chip) => (
        <li key={`${chip.facet}:${chip.value}`}>
          <button
            type="button"
            class="chip search-chip"
            aria-label={say.remove(chipLabel(chip))}
            onClick={() => remove(without(state.chosen.value, chip))}
          >
            <Name>{chipLabel(chip)}</Name> <span aria-hidden="true">✕</span>
          </button>
        </li>
      ))}
      <li>
        <button type="button" class="button plain search-clear" onClick={() => remove(NOTHING_CHOSEN)}>
          {say.clear}
        </button>
      </li>
    </ul>
  );
}

function useMedia(query: string): boolean {
  const matches = useSignal(matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = () => {
      matches.value = media.matches;
    };
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query, matches]);
  return matches.value;
}
