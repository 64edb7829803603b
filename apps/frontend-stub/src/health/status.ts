import { api } from "../client/api";
import { ApiError } from "../client/errors";
import type { components } from "../client/schema";
import { answerOf } from "../client/transport";
import { Loader } from "../common/loader";
import { connection } from "../state/connection";

export type Status = components["schemas"]["StatusBody"];
export type SourceState = Status["sources"][number];

/** A look at the service is worn out after so long. */
export const REFRESH_SECONDS = 10;

/** The service answers within some seconds, whatever is out; who waits so many milliseconds does not reach it. */
const PATIENCE = 12_000;

/** Looks at the service while somebody looks at the page. */
export class StatusWatch {
  readonly loader = new Loader<{ status: Status; at: number }>();
  private timer: ReturnType<typeof setInterval> | null = null;

  look(): Promise<void> {
    return this.loader.run(async (signal) => {
      const patience = AbortSignal.timeout(PATIENCE);
      try {
        const status = await answerOf(api.GET("/status", { signal: AbortSignal.any([signal, patience]) }));
        return { status, at: Date.now() };
      } catch (error) {
        if (!patience.aborted || signal.aborted) throw error;
        connection.failed();
        throw new ApiError("offline");
      }
    });
  }

  /** Look now and every ten seconds while the page is in sight. Return what ends it. */
  start(): () => void {
    const look = () => {
      if (document.visibilityState === "visible" && this.loader.current.peek().state !== "loading") void this.look();
    };
    void this.look();
    this.timer = setInterval(look, REFRESH_SECONDS * 1000);
    document.addEventListener("visibilitychange", look);
    return () => {
      if (this.timer !== null) clearInterval(this.timer);
      document.removeEventListener("visibilitychange", look);
      this.loader.stop();
    };
  }
}
