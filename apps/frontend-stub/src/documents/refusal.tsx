import type { ApiError, Problem } from "../client/errors";
import { bytes } from "../i18n/messages";
import { texts } from "./messages";

/** What went wrong with one document, in plain words, what to do, and what the service said of each field. */
export function Refusal({ error }: { error: ApiError | null }) {
  const { title, remedy } = wordsFor(error);
  return (
    <div class="refusal">
      <p>
        <strong>{title}.</strong> {remedy}
      </p>
      {error?.problem && <Details problem={error.problem} />}
    </div>
  );
}

function Details({ problem }: { problem: Problem }) {
  const say = texts();
  return (
    <details class="small">
      <summary>{say.details}</summary>
      {problem.errors.length === 0 && <p lang="en">{problem.detail}</p>}
      <ul class="field-errors">
        {problem.errors.map((each) => (
          <li key={each.field} lang="en">
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
      <code>{problem.request_id}</code>
    </details>
  );
}

type Words = { title: string; remedy: string };

function wordsFor(error: ApiError | null): Words {
  const say = texts();
  if (error === null) return { title: say.fileGone, remedy: say.fileGoneRemedy };
  if (error.kind === "offline" || error.kind === "cut") return { title: say.offline, remedy: say.offlineRemedy };
  if (error.kind === "unauthorised") return { title: say.unauthorised, remedy: say.unauthorisedRemedy };
  if (error.kind === "forbidden") return { title: say.forbidden, remedy: say.forbiddenRemedy };
  if (error.kind === "missing") return { title: say.gone, remedy: say.goneRemedy };
  if (error.passes) return { title: say.unavailable, remedy: say.unavailableRemedy };
  return refusalWords(error);
}

function refusalWords(error: ApiError): Words {
  const say = texts();
  const { status } = error;
  const code = error.problem?.code;
  if (status === 413) return { title: say.tooLarge, remedy: say.tooLargeRemedy(sizeLimit(error)) };
  if (status === 415) return { title: say.badType, remedy: say.badTypeRemedy };
  if (status === 409) return { title: say.conflict, remedy: say.conflictRemedy };
  if (code === "unreadable_document") return { title: say.unreadableDocument, remedy: say.unreadableRemedy };
  const named = error.problem?.errors.find(({ field }) => field === "external_id");
  if (named) return { title: say.badName, remedy: say.badNameRemedy(/^\d+/.exec(named.limit ?? "")?.[0] ?? "") };
  return { title: say.invalid, remedy: error.problem?.errors[0]?.remedy ?? error.problem?.detail ?? say.invalidRemedy };
}

/** Return the limit of a size as a person reads it, "" where the service named none in bytes. */
function sizeLimit(error: ApiError): string {
  const limit = error.problem?.errors.map((each) => /^(\d+) bytes$/.exec(each.limit ?? "")?.[1]).find(Boolean);
  return limit ? bytes(Number(limit)) : "";
}
