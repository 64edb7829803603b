import type { ComponentChildren } from "preact";
import type { ApiError, ErrorKind, Problem } from "../client/errors";
import { keyDialog } from "../shell/key_dialog";
import { common } from "./messages";

type Texts = ReturnType<typeof common>;

/** What went wrong, in plain words, with each field's limit and remedy, and the way on. */
export function ErrorNotice({ error, retry }: { error: ApiError; retry?: () => void }) {
  const say = common();
  return (
    <div class={`notice notice-${error.passes ? "warning" : "error"}`} role="alert" data-kind={error.kind}>
      <p class="notice-title">{titleOf(error.kind, say)}</p>
      <p>{textOf(error, say)}</p>
      {error.problem && <FieldErrors problem={error.problem} />}
      <div class="row">
        {error.kind === "unauthorised" && (
          <button type="button" class="button primary" onClick={keyDialog.open}>
            {say.giveKey}
          </button>
        )}
        {retry && error.passes && (
          <button type="button" class="button" onClick={retry}>
            {say.retry}
          </button>
        )}
        {error.problem && (
          <span class="quiet small">
            {say.requestId} <code>{error.problem.request_id}</code>
          </span>
        )}
      </div>
    </div>
  );
}

function FieldErrors({ problem }: { problem: Problem }) {
  const say = common();
  return (
    <ul class="field-errors">
      {problem.errors.map((each) => (
        <li key={each.field}>
          <code>{each.field}</code> {each.message}
          {each.limit && ` ${say.limit}: ${each.limit}.`}
          {each.remedy && (
            <span class="remedy">
              {say.remedy}: {each.remedy}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function titleOf(kind: ErrorKind, say: Texts): string {
  const titles: Record<ErrorKind, string> = {
    offline: say.offlineTitle,
    unauthorised: say.unauthorisedTitle,
    forbidden: say.forbiddenTitle,
    refused: say.refusedTitle,
    missing: say.missingTitle,
    busy: say.busyTitle,
    unavailable: say.unavailableTitle,
    cut: say.cutTitle,
  };
  return titles[kind];
}

function textOf(error: ApiError, say: Texts): string {
  if (error.kind === "offline") return say.offlineText;
  if (error.kind === "unauthorised") return say.unauthorisedText;
  if (error.kind === "busy") return say.busyText(error.retryAfter ?? 1);
  if (error.kind === "cut") return say.cutText;
  return error.problem?.detail ?? "";
}

/** Something is going on; told aloud once it takes long. */
export function Progress({ slow }: { slow: boolean }) {
  const say = common();
  return (
    <div class="progress" role="status">
      <span class="spinner" aria-hidden="true" />
      <span>{slow ? say.slow : say.loading}</span>
    </div>
  );
}

/** What stands where there is nothing yet. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
