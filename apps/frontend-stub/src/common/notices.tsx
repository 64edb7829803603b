import type { ComponentChildren } from "preact";
import { ApiError, type ErrorKind, type Problem } from "../client/errors";
import { waiting } from "../i18n/waiting";
import { keyDialog } from "../shell/key_dialog";
import { connection } from "../state/connection";
import { session } from "../state/session";
import { common } from "./messages";
import { problemText } from "./problems";

type Texts = ReturnType<typeof common>;

/** What went wrong, in plain words, with each field's limit and remedy, and the way on. */
export function ErrorNotice({ error, retry }: { error: ApiError; retry?: () => void }) {
  if (error.kind === "offline") return <NotSent retry={retry} />;
  if (error.kind === "unauthorised" && session.needsKey.value) return <KeyWanted />;
  return <Notice error={error} retry={retry} />;
}

/** What keeps the whole page from working: told once, around the views. */
export function PageNotice({ kind, retry }: { kind: "offline" | "unauthorised"; retry?: () => void }) {
  return <Notice error={new ApiError(kind)} retry={retry} />;
}

type Given = { error: ApiError; retry: (() => void) | undefined };

function Notice({ error, retry }: Given) {
  const say = common();
  return (
    <div class={`notice notice-${error.passes ? "warning" : "error"}`} role="alert" data-kind={error.kind}>
      <p class="notice-title">{titleOf(error.kind, say)}</p>
      <Text error={error} />
      {error.problem && !isToldByText(error) && <FieldErrors problem={error.problem} />}
      <div class="row">
        {error.kind === "unauthorised" && <KeyButton />}
        {error.passes && <RetryButton retry={retry} />}
        {error.problem && (
          <span class="quiet small">
            {say.requestId} <code>{error.problem.request_id}</code>
          </span>
        )}
      </div>
    </div>
  );
}

/** The page tells why, and tells it aloud; here stands what it kept from being done. */
function NotSent({ retry }: { retry: (() => void) | undefined }) {
  const say = common();
  return (
    <div class="notice notice-warning" data-kind="offline">
      <p class="notice-title">{say.notSent}</p>
      {!connection.offline.value && <p>{say.reachedAgain}</p>}
      <div class="row">
        <RetryButton retry={retry} />
      </div>
    </div>
  );
}

function KeyWanted() {
  return (
    <div class="notice notice-error" data-kind="unauthorised">
      <p class="notice-title">{common().notAnswered}</p>
      <div class="row">
        <KeyButton />
      </div>
    </div>
  );
}

function KeyButton() {
  return (
    <button type="button" class="button primary" onClick={keyDialog.open}>
      {common().giveKey}
    </button>
  );
}

function RetryButton({ retry }: { retry: (() => void) | undefined }) {
  if (retry === undefined) return null;
  return (
    <button type="button" class="button" onClick={retry}>
      {common().retry}
    </button>
  );
}

/** The texts of the fields are the service's own. */
function FieldErrors({ problem }: { problem: Problem }) {
  const say = common();
  return (
    <ul class="field-errors">
      {problem.errors.map((each) => (
        <li key={each.field}>
          <code>{each.field}</code> <span lang="en">{each.message}</span>
          {each.limit && ` ${say.limit}: ${each.limit}.`}
          {each.remedy && (
            <span class="remedy">
              {say.remedy}: <span lang="en">{each.remedy}</span>
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

function Text({ error }: { error: ApiError }) {
  const say = common();
  if (error.kind === "offline") return <p>{say.offlineText}</p>;
  if (error.kind === "unauthorised") return <p>{say.unauthorisedText}</p>;
  if (error.kind === "busy") return <Limit error={error} />;
  if (error.kind === "cut") return <p>{say.cutText}</p>;
  if (error.problem === null) return null;
  const text = problemText(error.problem);
  return text === null ? <p lang="en">{error.problem.detail}</p> : <p>{text}</p>;
}

function Limit({ error: { problem, retryAfter } }: { error: ApiError }) {
  const text = problem && problemText(problem);
  return (
    <p>
      {text} {retryAfter !== null && common().busyText(waiting(retryAfter))}
    </p>
  );
}

/** The text of some problems says all that their fields do, in the reader's language. */
function isToldByText({ kind, problem }: ApiError): boolean {
  return kind === "forbidden" || (kind === "busy" && problem !== null && problemText(problem) !== null);
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
