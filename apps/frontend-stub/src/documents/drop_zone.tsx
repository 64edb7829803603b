import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Name } from "../common/text";
import { route } from "../state/route";
import { chosen, dropped, type Found, type Gathered } from "./dropped";
import { texts } from "./messages";

const NAMED = 20;

/** Takes files and folders: by the buttons, or dropped anywhere on the page while the documents are shown. */
export function DropZone({ onFound }: { onFound: (files: Found[]) => void }) {
  const over = useSignal(false);
  const reading = useSignal(false);
  const last = useSignal<Gathered | null>(null);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const say = texts();

  const give = (gathered: Gathered) => {
    last.value = gathered;
    if (gathered.found.length > 0) onFound(gathered.found);
  };

  useEffect(() => {
    if (folder.current) folder.current.webkitdirectory = true;
    return onDrops({
      over: (is) => {
        over.value = is;
      },
      drop: async (transfer) => {
        reading.value = true;
        give(await dropped(transfer));
        reading.value = false;
      },
    });
  }, []);

  const take = (input: HTMLInputElement) => {
    give(chosen(input.files ?? []));
    input.value = ""; // else the same file cannot be chosen twice
  };
  return (
    <div class="drop-zone" data-over={over.value}>
      <p class="drop-title">{over.value ? say.dropHere : say.dropTitle}</p>
      <p class="quiet small">{say.dropText}</p>
      <div class="row drop-buttons">
        <button type="button" class="button primary" onClick={() => files.current?.click()}>
          {say.chooseFiles}
        </button>
        <button type="button" class="button" onClick={() => folder.current?.click()}>
          {say.chooseFolder}
        </button>
      </div>
      <input ref={files} type="file" multiple hidden onChange={(event) => take(event.currentTarget)} />
      <input ref={folder} type="file" multiple hidden onChange={(event) => take(event.currentTarget)} />
      <div role="status">
        {reading.value && <p class="quiet">{say.reading}</p>}
        {last.value && <LeftOut gathered={last.value} />}
      </div>
    </div>
  );
}

function LeftOut({ gathered }: { gathered: Gathered }) {
  const { found, skipped, empty, unreadable, alike } = gathered;
  const say = texts();
  return (
    <>
      {found.length === 0 && <p>{say.nothingFound}</p>}
      {skipped.length > 0 && <Names title={say.skipped(skipped.length)} names={skipped} />}
      {empty.length > 0 && <Names title={say.empty(empty.length)} names={empty} />}
      {unreadable.length > 0 && <Names title={say.unreadable(unreadable.length)} names={unreadable} />}
      {alike.length > 0 && <Names title={say.alike(alike.length)} names={[...new Set(alike)]} />}
    </>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  return (
    <details class="small left-out">
      <summary>{title}</summary>
      <ul>
        {names.slice(0, NAMED).map((name) => (
          <li key={name}>
            <Name>{name}</Name>
          </li>
        ))}
        {names.length > NAMED && <li>…</li>}
      </ul>
    </details>
  );
}

type Drops = { over: (is: boolean) => void; drop: (transfer: DataTransfer) => void };

/**
 * Listen for files that are dropped on the page; return what ends it. Away from the documents they are refused: a
 * browser would leave the page for the file.
 */
function onDrops({ over, drop }: Drops): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const on = (name: "dragenter" | "dragover" | "dragleave" | "drop", act: (event: DragEvent, here: boolean) => void) =>
    addEventListener(
      name,
      (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        act(event, route.value.view === "documents");
      },
      { signal },
    );
  const enter = (event: DragEvent, here: boolean) => {
    if (event.dataTransfer) event.dataTransfer.dropEffect = here ? "copy" : "none";
    over(here);
  };
  on("dragenter", enter);
  on("dragover", enter);
  on("dragleave", (event) => {
    if (event.relatedTarget === null) over(false);
  });
  on("drop", (event, here) => {
    over(false);
    if (here && event.dataTransfer) drop(event.dataTransfer);
  });
  return () => ended.abort();
}
