import type { components } from "./schema";

export type Problem = components["schemas"]["ProblemDetails"];

/** What a person can do about it differs: mend the request, give a key, wait, or look at the network. */
export type ErrorKind =
  | "offline"
  | "unauthorised"
  | "forbidden"
  | "refused"
  | "missing"
  | "busy"
  | "unavailable"
  | "cut";

/** A request that was not answered as hoped. `problem` is what the service said, null where it said nothing. */
export class ApiError extends Error {
  readonly kind: ErrorKind;
  readonly problem: Problem | null;
  /** Seconds after which the service wants to be asked again; null where it did not say. */
  readonly retryAfter: number | null;
  /** The status of the response, which may be a proxy's with no problem in it; null where there was none. */
  readonly status: number | null;

  constructor(
    kind: ErrorKind,
    problem: Problem | null = null,
    retryAfter: number | null = null,
    status: number | null = null,
  ) {
    super(problem?.detail ?? kind);
    this.name = "ApiError";
    this.kind = kind;
    this.problem = problem;
    this.retryAfter = retryAfter;
    this.status = status;
  }

  /** Say whether the same request may succeed later. */
  get passes(): boolean {
    return this.kind === "offline" || this.kind === "busy" || this.kind === "unavailable" || this.kind === "cut";
  }
}

/** Return the error for a response that is no success. */
export function errorOf(status: number, problem: Problem | null, retryAfter: number | null): ApiError {
  return new ApiError(kindOf(status), problem, retryAfter, status);
}

/** Return the problem that a JSON value is, null where it is none. */
export function problemIn(value: unknown): Problem | null {
  const is = typeof value === "object" && value !== null && "code" in value && "detail" in value;
  return is ? (value as Problem) : null;
}

export function retryAfterOf(headers: Headers): number | null {
  const seconds = Number(headers.get("Retry-After") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : null;
}

function kindOf(status: number): ErrorKind {
  if (status === 401) return "unauthorised";
  if (status === 403) return "forbidden";
  if (status === 404) return "missing";
  if (status === 429) return "busy";
  return status >= 500 || status === 408 ? "unavailable" : "refused";
}
