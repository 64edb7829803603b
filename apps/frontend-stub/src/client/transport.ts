import { connection } from "../state/connection";
import { session } from "../state/session";
import { ApiError, errorOf, problemIn, retryAfterOf } from "./errors";

/** Where the service is: beside the page, whatever prefix a proxy put both under. Ends in no slash. */
export const BASE = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** Ask the service, with the key in hand. A change of key ends what was asked with the one before. */
export async function authorisedFetch(input: Request | string, init: RequestInit = {}): Promise<Response> {
  const asked = new Request(input, init);
  const { key, changed } = session;
  const headers = new Headers(asked.headers);
  if (key.value !== null) headers.set("Authorization", `Bearer ${key.value}`);
  const signal = AbortSignal.any([asked.signal, changed()]);
  let response: Response;
  try {
    response = await fetch(new Request(asked, { headers, signal, cache: "no-store", credentials: "omit" }));
  } catch {
    signal.throwIfAborted();
    connection.failed();
    throw new ApiError("offline", null, null);
  }
  connection.answered();
  if (response.status === 401) session.refused();
  else if (response.ok) session.accepted();
  return response;
}

/** Return what the promise of a call gives, or raise the ApiError that the response means. */
export async function answerOf<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call;
  if (!response.ok) throw errorOf(response.status, problemIn(error), retryAfterOf(response.headers));
  return data as Data;
}

/** Raise the ApiError that a response means, unless it is a success. */
export async function accepted(response: Response): Promise<Response> {
  if (response.ok) return response;
  const problem = problemIn(await response.json().catch(() => null));
  throw errorOf(response.status, problem, retryAfterOf(response.headers));
}

/** Say whether an error only says that the request was given up. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
