import { connection } from "../state/connection";
import { session } from "../state/session";
import type { Stored } from "./api";
import { ApiError, errorOf, problemIn, retryAfterOf } from "./errors";
import { BASE } from "./transport";

export type Sending = {
  externalId: string;
  file: File;
  /** Told the part of the file that has been sent, from 0 to 1. At 1 the service has it and is indexing it. */
  sent: (part: number) => void;
  signal: AbortSignal;
};

/**
 * Store a file under a name. By XMLHttpRequest, as `fetch` does not tell how much has been sent.
 *
 * Raises ApiError, or an AbortError where `signal` or a change of key ends it; the service stops too.
 */
export function storeFile({ externalId, file, sent, signal }: Sending): Promise<Stored> {
  const ended = AbortSignal.any([signal, session.changed()]);
  const request = new XMLHttpRequest();
  return new Promise<Stored>((resolve, reject) => {
    const abort = () => request.abort();
    ended.throwIfAborted();
    ended.addEventListener("abort", abort);
    request.upload.onprogress = (event) => {
      if (event.lengthComputable && event.total > 0) sent(Math.min(event.loaded / event.total, 0.999));
    };
    request.upload.onload = () => sent(1);
    request.onload = () => {
      connection.answered();
      if (request.status === 401) session.refused();
      const body = jsonOf(request.responseText);
      if (request.status < 200 || request.status >= 300) {
        reject(errorOf(request.status, problemIn(body), retryAfterOf(headersOf(request))));
      } else if (body === null) reject(new ApiError("cut"));
      else resolve(body as Stored);
    };
    request.onerror = () => {
      connection.failed();
      reject(new ApiError("offline"));
    };
    request.onabort = () => reject(new DOMException("The upload was given up.", "AbortError"));
    request.onloadend = () => ended.removeEventListener("abort", abort);
    request.open("PUT", `${BASE}/documents/${encodeURIComponent(externalId)}`);
    if (session.key.value !== null) request.setRequestHeader("Authorization", `Bearer ${session.key.value}`);
    const form = new FormData();
    form.append("file", file, file.name);
    request.send(form);
  });
}

function headersOf(request: XMLHttpRequest): Headers {
  const seconds = request.getResponseHeader("Retry-After");
  return new Headers(seconds === null ? {} : { "Retry-After": seconds });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
