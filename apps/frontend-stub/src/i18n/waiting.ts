import { number } from "./messages";

/** Return a time to wait, in seconds, in its largest unit; rounded up, so that nobody comes too early. */
export function waiting(seconds: number): string {
  const [unit, length] =
    seconds < 100 ? (["second", 1] as const) : seconds < 6000 ? (["minute", 60] as const) : (["hour", 3600] as const);
  return number(Math.max(1, Math.ceil(seconds / length)), { style: "unit", unit, unitDisplay: "long" });
}
