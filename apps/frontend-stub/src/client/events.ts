import { EventSourceParserStream } from "eventsource-parser/stream";
import type { AnswerBody, AnswerCitation, AskBody, Asked, SearchResults } from "./api";
import { ApiError, errorOf, type Problem, problemIn } from "./errors";
import { accepted, authorisedFetch, BASE, isAbort } from "./transport";

/** What /ask says while it answers. */
export type AskEvent =
  | { event: "status"; data: { status: "searching" | "answering"; rewritten_query?: string; message?: string } }
  | { event: "search_results"; data: SearchResults }
  | { event: "message"; data: { delta: string } }
  | { event: "citation"; data: AnswerCitation }
  | { event: "final_answer"; data: AnswerBody };

const LAST = "final_answer";

/** The service lets hear of it each 15 seconds: after so many milliseconds without a word nobody is there any more. */
const LONGEST_SILENCE = 45_000;

/**
 * Yield the events of one answer, up to `final_answer`.
 *
 * Raises ApiError: for a refusal, for an `error` event, and of the kind `cut` where the stream ends without a last
 * event, or falls silent. Raises the AbortError of `signal`; the service stops too.
 */
export async function* askEvents(body: Asked<AskBody, "query">, signal: AbortSignal): AsyncGenerator<AskEvent> {
  const silence = new AbortController();
  const listen = () => setTimeout(() => silence.abort(new ApiError("cut")), LONGEST_SILENCE);
  let timer = listen();
  try {
    const ended = AbortSignal.any([signal, silence.signal]);
    const response = await accepted(
      await authorisedFetch(`${BASE}/ask`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
        body: JSON.stringify({ ...body, stream: true }),
        signal: ended,
      }),
    );
    if (response.body === null) throw new ApiError("cut");
    const texts = response.body.pipeThrough(new TextDecoderStream(), { signal: ended });
    for await (const { event, data } of readAll(texts.pipeThrough(new EventSourceParserStream()))) {
      clearTimeout(timer);
      timer = listen();
      if (event === "ping") continue;
      const value: unknown = JSON.parse(data);
      if (event === "error") throw asError(problemIn(value));
      if (!isKnown(event)) continue;
      if (!IS_WHOLE[event](fieldsOf(value))) throw new ApiError("cut");
      yield { event, data: value } as AskEvent;
      if (event === LAST) return;
    }
  } catch (error) {
    if (isAbort(error) || error instanceof ApiError) throw error;
    signal.throwIfAborted();
    throw new ApiError("cut");
  } finally {
    clearTimeout(timer);
  }
  throw new ApiError("cut");
}

function asError(problem: Problem | null): ApiError {
  return problem === null ? new ApiError("cut") : errorOf(problem.status, problem, null);
}

type Fields = Readonly<Record<string, unknown>>;

/** What the page reads of an event is there. Of what stands between it and the service something may answer, too. */
const IS_WHOLE: Record<AskEvent["event"], (data: Fields) => boolean> = {
  status: ({ status }) => status === "searching" || status === "answering",
  search_results: ({ results, degraded }) => Array.isArray(results) && Array.isArray(degraded),
  message: ({ delta }) => typeof delta === "string",
  citation: isCitation,
  final_answer: ({ answer, citations, degraded }) =>
    typeof answer === "string" &&
    Array.isArray(citations) &&
    citations.every((each) => isCitation(fieldsOf(each))) &&
    Array.isArray(degraded),
};

function isCitation({ n, title, quote }: Fields): boolean {
  return typeof n === "number" && typeof title === "string" && typeof quote === "string";
}

function isKnown(event: string | undefined): event is AskEvent["event"] {
  return event !== undefined && Object.hasOwn(IS_WHOLE, event);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

async function* readAll<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
