import { connection } from "../state/connection";
import { BASE } from "./transport";

const FIRST_SECONDS = 2;
const MOST_SECONDS = 30;

/** Ask whether the service is there; the answer is in `connection`. */
export async function reach(): Promise<boolean> {
  try {
    await fetch(`${BASE}/healthz`, { cache: "no-store", credentials: "omit" });
  } catch {
    connection.failed();
    return false;
  }
  connection.answered();
  return true;
}

/** Ask again and again, at twice the distance each time, until the service is there. Return what ends it. */
export function reachAgain(): () => void {
  let timer: ReturnType<typeof setTimeout>;
  let over = false;
  const after = (seconds: number) => {
    timer = setTimeout(async () => {
      if (!(await reach()) && !over) after(Math.min(seconds * 2, MOST_SECONDS));
    }, seconds * 1000);
  };
  after(FIRST_SECONDS);
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
