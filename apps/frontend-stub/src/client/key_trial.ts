import { BASE } from "./transport";

/** So long, in milliseconds, a trial may take. */
const PATIENCE = 15_000;

/**
 * Say whether the service takes a key, before it becomes the one in hand. A key that may do something else than what is
 * asked here is taken, and so is one that the service cannot look up now.
 * A trial that `signal` ends is "offline", too.
 */
export async function tryKey(key: string, signal: AbortSignal): Promise<"accepted" | "unknown" | "offline"> {
  if (!/^[!-~]+$/.test(key)) return "unknown"; // no header can hold it
  try {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${BASE}/status`, {
      headers,
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
    });
    return response.status === 401 ? "unknown" : "accepted";
  } catch {
    return "offline";
  }
}
