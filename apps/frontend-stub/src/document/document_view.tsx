import type { Place } from "../state/route";
import { texts } from "./messages";

/** A document as it was taken in, opened at a place. */
export function DocumentView({ id }: { id: string; place: Place }) {
  return (
    <section aria-labelledby="document-title">
      <h1 id="document-title">
        {texts().title} {id}
      </h1>
    </section>
  );
}
