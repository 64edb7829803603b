import { useComputed, useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { DegradedNotice } from "../common/degraded";
import { ErrorNotice } from "../common/notices";
import { IncompleteNotice } from "../common/unread";
import { visible } from "../common/visible";
import { href } from "../state/route";
import { AnswerText } from "./answer_text";
import type { Citing, Opened } from "./citing";
import { texts } from "./messages";
import { Sources } from "./sources";
import type { Turn } from "./turn";

/** A question, its answer as far as it has come, and what it rests on. */
export function TurnView({ turn, again }: { turn: Turn; again: () => void }) {
  const say = texts();
  const citing = useCiting(turn);
  const phase = turn.phase.value;
  const text = turn.text.value;
  const understood = turn.understood.value;
  const title = `question-${turn.id}`;
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || citing.opened === null) return;
    event.preventDefault();
    citing.close();
  };
  return (
    <article class="turn" aria-labelledby={title} data-phase={phase} onKeyDown={closeByKey}>
      <h2 id={title} class="question" dir="auto">
        {visible(turn.question)}
      </h2>
      {understood !== null && (
        <p class="quiet small">
          {say.understood} <bdi>{visible(understood)}</bdi>
        </p>
      )}
      {phase === "abstained" ? (
        <Abstention turn={turn} />
      ) : (
        text !== "" && (
          <div class="answer">
            <AnswerText text={text} citing={citing} />
          </div>
        )
      )}
      <Going turn={turn} />
      {phase === "stopped" && (
        <div class="ending">
          <p class="ending-title">{say.stopped}</p>
          <div class="row">
            {text !== "" && <span class="quiet">{say.stoppedText}</span>}
            <button type="button" class="button" onClick={again}>
              {say.again}
            </button>
          </div>
        </div>
      )}
      {phase === "failed" && text !== "" && <p class="incomplete">{say.incomplete}</p>}
      {turn.error.value !== null && <ErrorNotice error={turn.error.value} retry={again} />}
      {phase !== "abstained" && <Sources citing={citing} />}
      <IncompleteNotice incomplete={turn.incomplete.value} />
      <DegradedNotice degraded={turn.degraded.value} />
    </article>
  );
}

function useCiting(turn: Turn): Citing {
  const opened = useSignal<Opened | null>(null);
  const opener = useRef<HTMLElement | null>(null);
  const acts = useMemo(() => {
    const close = () => {
      opened.value = null;
      opener.current?.focus();
    };
    const toggle = (place: Opened, by: HTMLElement) => {
      const before = opened.value;
      opener.current = by;
      opened.value = before?.at === place.at && before.n === place.n ? null : place;
    };
    return { close, toggle };
  }, [opened]);
  const citing = useComputed(() => ({
    known: turn.citations.value,
    passages: turn.passages.value,
    opened: opened.value,
    answer: turn.id,
    ...acts,
  }));
  return citing.value;
}

/** Searched, and not found: no error, and no answer either. */
function Abstention({ turn }: { turn: Turn }) {
  const say = texts();
  return (
    <div class="abstention">
      <p class="ending-title">{say.abstained}</p>
      {turn.text.value !== "" && <p dir="auto">{visible(turn.text.value)}</p>}
      <p class="quiet">{say.abstainedText}</p>
      <a href={href({ view: "search", query: turn.understood.value ?? turn.question })}>{say.searchPassages}</a>
    </div>
  );
}

function Going({ turn }: { turn: Turn }) {
  if (!turn.running) return null;
  return (
    <div class="progress">
      <span class="spinner" aria-hidden="true" />
      <span>{goingOf(turn)}</span>
    </div>
  );
}

/** Say in words what is being done for a turn. */
export function goingOf(turn: Turn): string {
  const say = texts();
  const [searching, begun] = [turn.phase.value === "searching", turn.text.value !== ""];
  if (begun) return say.writing;
  if (turn.slow.value) return searching ? say.slowSearching : say.slowAnswering;
  return searching ? say.searching : say.answering;
}
