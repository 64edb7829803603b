import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { StoredDocument } from "../client/api";
import { ApiError } from "../client/errors";
import { storeFile } from "../client/upload";
import { route } from "../state/route";
import { session } from "../state/session";
import { DocumentList } from "./document_list";
import type { RowActions } from "./document_table";
import { DropZone } from "./drop_zone";
import type { Found } from "./dropped";
import { focusInstead } from "./focus";
import { leaveFiles, takeFilesLeft } from "./left_files";
import { LeftOver } from "./left_over";
import { ListSection } from "./list_section";
import { texts } from "./messages";
import { Refusal } from "./refusal";
import { type Removal, Removals, restore } from "./removals";
import { UndoBars } from "./undo_bars";
import { UploadPanel } from "./upload_panel";
import { UploadQueue } from "./upload_queue";
import "./documents.css";

const REFRESH_MILLISECONDS = 1500;

/** Files go in here; what is in is listed, opened, deleted and brought back. */
export function DocumentsView() {
  const list = useMemo(() => new DocumentList(), []);
  const removals = useMemo(() => new Removals(list), []);
  const refresh = useRef<ReturnType<typeof setTimeout> | null>(null);
  const queue = useMemo(() => {
    const soon = () => {
      refresh.current ??= setTimeout(() => {
        refresh.current = null;
        void list.reload();
      }, REFRESH_MILLISECONDS);
    };
    return new UploadQueue(storeFile, soon);
  }, []);
  const focus = useSignal<string | null>(null);
  const refused = useSignal<ApiError | null>(null);
  const leftOver = useSignal<Found[]>([]);
  const shown = route.value.view === "documents";

  useEffect(() => {
    if (shown) void list.reload();
  }, [shown]);
  useEffect(() => {
    const { files, refused } = takeFilesLeft();
    if (refused) leftOver.value = files;
    else queue.add(files);
    const keyed = session.key.peek() !== null;
    return () => {
      const waiting = leftOver.peek();
      leaveFiles({ files: [...waiting, ...queue.withoutKey()], refused: keyed || waiting.length > 0 });
      queue.stop();
      list.loader.stop();
      if (refresh.current !== null) clearTimeout(refresh.current);
    };
  }, []);

  const afterUndo = (removal: Removal) => {
    const first = list.shown.value.find(({ external_id }) => removal.names.has(external_id));
    if (first) focus.value = first.external_id;
    else document.getElementById("list-title")?.focus();
  };
  const actions: RowActions & { removeSelected: () => void } = {
    select: (name, on) => list.select(name, on),
    selectAll: (on) => list.selectAll(on),
    remove: (document) => removals.remove([document]),
    removeSelected: () => {
      const { value: names } = list.selected;
      removals.remove(list.shown.value.filter((document) => names.has(document.external_id)));
    },
    restore: async (document) => {
      refused.value = await restored(list, document);
    },
  };
  return (
    <section class="documents-view" aria-labelledby="documents-title">
      <h1 id="documents-title" tabIndex={-1}>
        {texts().title}
      </h1>
      <DropZone onFound={(files) => queue.add(files)} />
      <LeftOver files={leftOver} send={(files) => queue.add(files)} />
      <UploadPanel queue={queue} />
      {refused.value && (
        <div class="notice notice-error" role="alert">
          <Refusal error={refused.value} />
        </div>
      )}
      <ListSection list={list} actions={actions} focus={focus} uploading={queue.counts.value.left > 0} />
      <UndoBars removals={removals} onOver={afterUndo} />
    </section>
  );
}

/** Bring a document back whose row is in the list of the deleted; return what kept it from coming. */
async function restored(list: DocumentList, { external_id: name }: StoredDocument): Promise<ApiError | null> {
  list.hide([name]);
  focusInstead("list-title");
  try {
    await restore(name);
  } catch (error) {
    list.show([name]);
    return error instanceof ApiError ? error : new ApiError("cut");
  }
  list.settle([name]);
  await list.reload();
  return null;
}
