import type { Degraded } from "../client/api";
import { sourceName } from "../common/sources";
import { texts } from "./messages";

type Texts = ReturnType<typeof texts>;

const REASONS = [
  "timeout",
  "unreachable",
  "unavailable",
  "connection_lost",
  "pool_exhausted",
  "too_many_connections",
  "busy",
  "circuit_open",
  "not_configured",
  "no_embedder",
  "vectors_pending",
  "rate_limited",
  "error",
  "failed",
  "invalid",
] as const satisfies readonly (keyof Texts)[];

/** Say in plain words which source did not do its part, and why; a reason that is not known is told by its code. */
export function degradedText({ source, reason }: Pick<Degraded, "source" | "reason">): string {
  const say = texts();
  const name = sourceName(source);
  return say.degradedSource(name.charAt(0).toUpperCase() + name.slice(1), reasonText(reason, say));
}

function reasonText(reason: string, say: Texts): string {
  const known = REASONS.find((each) => each === reason);
  if (known) return say[known];
  const [kind, rest = ""] = splitOnce(reason);
  if (kind === "filter") return say.filterOut(rest.split(",").join(", "));
  if (kind === "syntax") return say.syntaxOut;
  if (kind === "scope") return say.scopeOut(rest);
  return say.unknownReason(reason);
}

function splitOnce(text: string): [string, string?] {
  const at = text.indexOf(":");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
