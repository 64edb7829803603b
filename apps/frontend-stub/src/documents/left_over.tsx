import type { Signal } from "@preact/signals";
import type { Found } from "./dropped";
import { focusInstead } from "./focus";
import { texts } from "./messages";

/** Files that were given under a key that is not valid any more: whoever has the key now says what becomes of them. */
export function LeftOver({ files, send }: { files: Signal<Found[]>; send: (files: Found[]) => void }) {
  const say = texts();
  if (files.value.length === 0) return null;
  const decide = (wanted: boolean) => {
    const { value } = files;
    files.value = [];
    if (wanted) send(value);
    focusInstead("uploads-title", "documents-title");
  };
  return (
    <div class="notice" role="alert">
      <p class="notice-title">{say.leftOver(files.value.length)}</p>
      <div class="row">
        <button type="button" class="button primary" onClick={() => decide(true)}>
          {say.sendLeftOver}
        </button>
        <button type="button" class="button" onClick={() => decide(false)}>
          {say.dropLeftOver}
        </button>
      </div>
    </div>
  );
}
