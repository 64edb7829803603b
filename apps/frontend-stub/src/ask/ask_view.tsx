import { useEffect, useMemo, useRef } from "preact/hooks";
import { route } from "../state/route";
import { session } from "../state/session";
import "./ask.css";
import { Composer } from "./composer";
import { Conversation } from "./conversation";
import { Draft, leaveWithoutKey, takeLeft } from "./draft";
import { useFollowing } from "./following";
import { texts } from "./messages";
import { Suggestions } from "./suggestions";
import type { Turn } from "./turn";
import { goingOf, TurnView } from "./turn_view";

/** Ask, read the answer, see the passages that it rests on, ask on. */
export function AskView() {
  const say = texts();
  const conversation = useMemo(() => new Conversation(), []);
  const draft = useMemo(() => new Draft(), []);
  const box = useRef<HTMLTextAreaElement>(null);
  const turnsBox = useRef<HTMLDivElement>(null);
  useFollowing(conversation, turnsBox);
  useEffect(() => {
    const left = takeLeft(); // the view before is gone by now, and not yet at the first rendering
    if (left !== "") draft.write(left);
    const keyless = session.key.peek() === null;
    return () => {
      conversation.stop();
      if (keyless) leaveWithoutKey(draft.text.peek());
    };
  }, [conversation, draft]);

  const turns = conversation.turns.value;
  const fresh = turns.length === 0;
  const ask = async () => {
    const question = draft.question.value;
    draft.write("");
    const turn = await conversation.ask(question);
    // what waiting does not help is to be mended: it goes back to who typed it
    const lost = turn === null || turn.error.value?.passes === false;
    if (lost && draft.text.value === "") draft.write(question);
  };
  const focus = () => box.current?.focus({ preventScroll: true });
  const again = (turn: Turn) => {
    void conversation.again(turn);
    focus(); // the button goes
  };
  return (
    <section class="ask" aria-labelledby="ask-title">
      <div class="ask-head">
        <h1 id="ask-title">{say.title}</h1>
        {!fresh && (
          <button
            type="button"
            class="button"
            onClick={() => {
              conversation.renew();
              focus();
            }}
          >
            {say.renew}
          </button>
        )}
      </div>
      {fresh && <p class="quiet">{say.intro}</p>}
      <div ref={turnsBox}>
        {turns.map((turn) => (
          <TurnView key={turn.id} turn={turn} again={() => again(turn)} />
        ))}
      </div>
      <p class="visually-hidden" role="status">
        <Told turn={conversation.last.value} />
      </p>
      <Composer
        draft={draft}
        box={box}
        asked={() => turns.map((turn) => turn.question)}
        answering={conversation.answering.value}
        ask={() => void ask()}
        stop={() => conversation.stop()}
      />
      {fresh && route.value.view === "ask" && (
        <Suggestions
          choose={(question) => {
            draft.write(question);
            focus();
          }}
        />
      )}
    </section>
  );
}

/** What is told aloud of a turn: how far it is, not each word of it. */
function Told({ turn }: { turn: Turn | null }) {
  return turn === null ? null : <span>{toldOf(turn)}</span>;
}

function toldOf(turn: Turn): string {
  const say = texts();
  if (turn.running) return goingOf(turn);
  if (turn.phase.value === "done") return say.toldDone(turn.citations.value.size);
  if (turn.phase.value === "abstained") return say.toldAbstained;
  return turn.phase.value === "stopped" ? say.stopped : "";
}
