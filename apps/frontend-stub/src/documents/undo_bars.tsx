import { useEffect, useRef } from "preact/hooks";
import { Name } from "../common/text";
import { texts } from "./messages";
import { Refusal } from "./refusal";
import type { Removal, Removals } from "./removals";

/** What was deleted a moment ago, with the way back. It stays until it is dismissed. */
export function UndoBars({ removals, onOver }: { removals: Removals; onOver: (removal: Removal) => void }) {
  const say = texts();
  const current = removals.current.value;
  return (
    <section class="undo-bars" aria-label={say.undoRegion} hidden={current.length === 0}>
      {current.toReversed().map((removal) => (
        <UndoBar key={removal.id} removal={removal} removals={removals} onOver={onOver} />
      ))}
    </section>
  );
}

function UndoBar({
  removal,
  removals,
  onOver,
}: {
  removal: Removal;
  removals: Removals;
  onOver: (removal: Removal) => void;
}) {
  const say = texts();
  const button = useRef<HTMLButtonElement>(null);
  const dismissal = useRef<HTMLButtonElement>(null);
  const state = removal.state.value;
  const failures = removal.failures.value;

  const undoable = state === "deleting" || (state === "deleted" && removal.documents.value.length > 0);

  useEffect(() => {
    if (undoable) button.current?.focus();
    else if (document.activeElement === document.body) dismissal.current?.focus(); // the button in focus is gone
  }, [undoable]);

  const over = () => {
    removals.dismiss(removal);
    onOver(removal);
  };
  const undo = async () => {
    await removals.undo(removal);
    if (removal.state.value === "restored") over();
  };
  return (
    <div class="undo-bar" data-state={state}>
      <div class="undo-text" role="status">
        <Told removal={removal} />
        {failures && (
          <div class="undo-failed">
            <p>{removal.undoTried ? say.notRestored(failures.count) : say.notDeleted(failures.count)}</p>
            <Refusal error={failures.error} />
          </div>
        )}
      </div>
      {undoable && (
        <button ref={button} type="button" class="button" onClick={undo}>
          {say.undo}
        </button>
      )}
      <button
        ref={dismissal}
        type="button"
        class="button plain dismiss"
        aria-label={say.dismiss}
        title={say.dismiss}
        onClick={over}
      >
        ×
      </button>
    </div>
  );
}

function Told({ removal }: { removal: Removal }) {
  const say = texts();
  const state = removal.state.value;
  const [first, ...others] = removal.documents.value;
  if (state === "restoring") return <p>{say.restoring}</p>;
  if (first === undefined) return null;
  if (others.length > 0) {
    const count = others.length + 1;
    return <p>{state === "deleting" ? say.deletingMany(count) : say.deletedMany(count)}</p>;
  }
  return (
    <p>
      {state === "deleting" ? say.deleting : say.deleted} <Name>{first.external_id}</Name>
    </p>
  );
}
