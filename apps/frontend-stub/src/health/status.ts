import { api } from "../client/api";
import type { components } from "../client/schema";
import { answerOf } from "../client/transport";
import { Loader } from "../common/loader";

export type Status = components["schemas"]["StatusBody"];
export type SourceState = Status["sources"][number];

/** A look at the service is worn out after so long. */
export const REFRESH_SECONDS = 10;

/** Looks at the service while somebody looks at the page. */
export class StatusWatch {
  readonly loader = new Loader<{ status: Status; at: number }>();
  private timer: ReturnType<typeof setInterval> | null = null;

  look(): Promise<void> {
    return this.loader.run(async (signal) => ({
      status: await answerOf(api.GET("/status", { signal })),
      at: Date.now(),
    }));
  }

  /** Look now and every ten seconds while the page is in sight. Return what ends it. */
  start(): () => void {
    const look = () => void (document.visibilityState === "visible" && this.look());
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
