import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Stored } from "../client/api";
import type { ApiError } from "../client/errors";
import { common } from "../common/messages";
import { Name } from "../common/text";
import { UnreadList } from "../common/unread";
import { bytes } from "../i18n/messages";
import { keyDialog } from "../shell/key_dialog";
import { href } from "../state/route";
import { focusInstead } from "./focus";
import { texts } from "./messages";
import { Refusal } from "./refusal";
import { type Counts, MAX_ATTEMPTS, type Upload, type UploadQueue } from "./upload_queue";

const ROWS = 30;
const TITLE = "uploads-title";

/** The files on their way: all together, then each; those that need a person come first. */
export function UploadPanel({ queue }: { queue: UploadQueue }) {
  const limit = useSignal(ROWS);
  const ordered = useComputed(() => inOrder(queue.uploads.value));
  const counts = queue.counts.value;
  const say = texts();

  useEffect(() => {
    if (counts.left === 0) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [counts.left === 0]);

  if (counts.total === 0) return null;
  const rows = ordered.value;
  return (
    <section class="card uploads" aria-labelledby={TITLE}>
      <div class="row uploads-head">
        <h2 id={TITLE} tabIndex={-1}>
          {say.uploads}
        </h2>
        <span class="quiet">
          {say.uploadsOf(counts.done, counts.total)}
          {counts.failed > 0 && ` · ${say.failedCount(counts.failed)}`}
        </span>
        <UploadActions queue={queue} counts={counts} />
      </div>
      <progress class="bar" aria-label={say.allFiles} max={counts.total} value={counts.total - counts.left} />
      <Announcement counts={counts} />
      {queue.heldFor.value > 0 && <p class="quiet">{say.heldFor(queue.heldFor.value)}</p>}
      {queue.paused.value && (
        <div class="notice" role="alert">
          <p class="notice-title">{say.pausedTitle}</p>
          <Refusal error={queue.paused.value} />
          <WayOn queue={queue} cause={queue.paused.value} />
        </div>
      )}
      <ul class="upload-list">
        {rows.slice(0, limit.value).map((upload) => (
          <UploadRow key={upload.id} upload={upload} queue={queue} />
        ))}
      </ul>
      {rows.length > limit.value && (
        <button
          type="button"
          class="button plain"
          onClick={() =>
            pressed(() => {
              limit.value += ROWS * 10;
            })
          }
        >
          {say.moreRows(Math.min(rows.length - limit.value, ROWS * 10))}
        </button>
      )}
    </section>
  );
}

function WayOn({ queue, cause }: { queue: UploadQueue; cause: ApiError }) {
  const say = texts();
  if (cause.kind === "unauthorised") {
    return (
      <button type="button" class="button primary" onClick={keyDialog.open}>
        {common().giveKey}
      </button>
    );
  }
  return (
    <button type="button" class="button" onClick={() => pressed(() => queue.goOn())}>
      {say.goOn}
    </button>
  );
}

/** Do what a button does that may go with it. */
function pressed(act: () => void): void {
  act();
  focusInstead(TITLE, "documents-title");
}

function UploadActions({ queue, counts }: { queue: UploadQueue; counts: Counts }) {
  const say = texts();
  const retryFailed = () => queue.retry(...queue.uploads.value.filter((each) => each.state.value.state === "failed"));
  return (
    <div class="row uploads-actions">
      {counts.failed > 0 && counts.left === 0 && (
        <button type="button" class="button" onClick={() => pressed(retryFailed)}>
          {say.retryFailed}
        </button>
      )}
      {counts.left > 0 && (
        <button type="button" class="button" onClick={() => pressed(() => queue.cancelAll())}>
          {say.cancelAll}
        </button>
      )}
      {counts.left < counts.total && (
        <button type="button" class="button" onClick={() => pressed(() => queue.clear())}>
          {say.clear}
        </button>
      )}
    </div>
  );
}

/** Tells the progress aloud at each quarter and at the end, and not file by file. */
function Announcement({ counts }: { counts: Counts }) {
  const told = useSignal("");
  const say = texts();
  const over = counts.total - counts.left;
  const quarter = Math.floor((4 * over) / counts.total);
  useEffect(() => {
    const failed = counts.failed > 0 ? `, ${say.failedCount(counts.failed)}` : "";
    if (counts.left === 0) told.value = say.uploadsDone(counts.done, counts.failed);
    else told.value = say.uploadsOf(counts.done, counts.total) + failed;
  }, [quarter, counts.total]);
  return (
    <p class="visually-hidden" role="status">
      {told.value}
    </p>
  );
}

function UploadRow({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
  const say = texts();
  const { value } = upload.state;
  const { externalId: name } = upload;
  return (
    <li class="upload" data-state={value.state}>
      <div class="upload-name">
        {value.state === "done" ? (
          <a href={href({ view: "document", id: name, place: {} })}>
            <Name>{name}</Name>
          </a>
        ) : (
          <Name>{name}</Name>
        )}{" "}
        <span class="quiet small">{bytes(upload.file.size)}</span>
      </div>
      <div class="upload-state">
        <StateOf upload={upload} />
      </div>
      {!upload.isOver && (
        <button
          type="button"
          class="button plain"
          aria-label={say.cancelOne(name)}
          onClick={() => pressed(() => queue.cancel(upload))}
        >
          {say.cancel}
        </button>
      )}
      {(value.state === "failed" || value.state === "cancelled") && (
        <button
          type="button"
          class="button plain"
          aria-label={say.retryOne(name)}
          onClick={() => pressed(() => queue.retry(upload))}
        >
          {say.retry}
        </button>
      )}
    </li>
  );
}

function StateOf({ upload }: { upload: Upload }): ComponentChildren {
  const say = texts();
  const { value } = upload.state;
  if (value.state === "done") return <StoredAs stored={value.stored} />;
  if (value.state === "failed") return <Refusal error={value.error} />;
  if (value.state === "cancelled") return say.cancelled;
  if (value.state === "waiting") {
    return upload.attempts.value > 0 ? say.again(upload.attempts.value + 1, MAX_ATTEMPTS) : say.waiting;
  }
  return <Sending upload={upload} />;
}

function Sending({ upload }: { upload: Upload }) {
  const say = texts();
  const percent = Math.floor(upload.sent.value * 100);
  const indexing = upload.state.value.state === "indexing";
  return (
    <>
      <progress
        class="bar"
        aria-label={say.progressOf(upload.externalId)}
        max={100}
        value={indexing ? undefined : percent}
      />
      <span class="small">{indexing ? say.indexing : say.sending(percent)}</span>
    </>
  );
}

function StoredAs({ stored }: { stored: Stored }) {
  const say = texts();
  return (
    <>
      <span class="upload-done">{say[stored.status](stored.chunks)}</span>
      {stored.pending > 0 && <span class="quiet small"> {say.pendingAfter}</span>}
      {stored.unread.length > 0 && (
        <div class="small upload-unread">
          {say.unread}
          <UnreadList unread={stored.unread} />
        </div>
      )}
    </>
  );
}

const RANK = { failed: 0, sending: 1, indexing: 1, waiting: 2, partly: 3, done: 4, cancelled: 5 } as const;

function rankOf({ state: { value } }: Upload): number {
  return RANK[value.state === "done" && value.stored.unread.length > 0 ? "partly" : value.state];
}

/** Return the uploads with those first that a person has to see, else in the order in which they were given. */
function inOrder(uploads: readonly Upload[]): Upload[] {
  return uploads.toSorted((a, b) => rankOf(a) - rankOf(b) || a.id - b.id);
}
