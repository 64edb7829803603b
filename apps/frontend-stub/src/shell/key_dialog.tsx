import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { tryKey } from "../client/key_trial";
import { common } from "../common/messages";
import { leavePlaces } from "../state/route";
import { session } from "../state/session";
import { shell } from "./messages";

const opened = signal(false);

export const keyDialog = {
  open(): void {
    opened.value = true;
  },
};

/** Takes a key, tries it at once, and asks how long to keep it. */
export function KeyDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal("");
  const keep = useSignal(session.kept.value);
  const trial = useSignal<AbortController | null>(null);
  const refused = useSignal<"unknown" | "offline" | null>(null);
  const say = shell();

  useEffect(() => {
    if (opened.value) dialog.current?.showModal();
    else if (dialog.current?.open) {
      dialog.current.close();
      // what opened it may have gone with the key before
      if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    }
  }, [opened.value]);

  const close = () => {
    trial.value?.abort(); // who closes the dialog wants nothing of it to happen
    trial.value = null;
    opened.value = false;
    typed.value = "";
    refused.value = null;
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const key = typed.value.trim();
    if (key === "" || trial.value !== null) return;
    const controller = new AbortController();
    trial.value = controller;
    const found = await tryKey(key, controller.signal);
    if (controller.signal.aborted) return;
    trial.value = null;
    if (found !== "accepted") {
      refused.value = found;
      return;
    }
    const before = session.key.peek();
    session.use(key, keep.value);
    if (before !== null && before !== key) leavePlaces();
    close();
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="key-title" class="dialog">
      <form onSubmit={submit}>
        <h2 id="key-title">{say.keyTitle}</h2>
        <p class="quiet">{say.keyText}</p>
        <label class="field">
          <span>{say.key}</span>
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            maxLength={400}
            value={typed.value}
            aria-invalid={refused.value === "unknown"}
            aria-describedby="key-refused"
            onInput={(event) => {
              typed.value = event.currentTarget.value;
              refused.value = null;
            }}
          />
        </label>
        <p id="key-refused" class="field-error" role="alert">
          {refused.value === "unknown" && say.keyRefused}
          {refused.value === "offline" && common().offlineTitle}
        </p>
        <fieldset>
          <legend>{say.keepFor}</legend>
          <label class="choice">
            <input type="radio" name="keep" checked={!keep.value} onChange={() => (keep.value = false)} />
            <span>{say.keepMemory}</span>
          </label>
          <label class="choice">
            <input type="radio" name="keep" checked={keep.value} onChange={() => (keep.value = true)} />
            <span>{say.keepTab}</span>
          </label>
        </fieldset>
        <div class="row end">
          {session.key.value !== null && (
            <button
              type="button"
              class="button"
              onClick={() => {
                session.leave();
                leavePlaces();
                close();
              }}
            >
              {say.forgetKey}
            </button>
          )}
          <button type="button" class="button" onClick={close}>
            {common().cancel}
          </button>
          <button type="submit" class="button primary" disabled={typed.value.trim() === "" || trial.value !== null}>
            {trial.value !== null ? common().loading : say.useKey}
          </button>
        </div>
      </form>
    </dialog>
  );
}
