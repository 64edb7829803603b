import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { shell } from "./messages";

/** Around one view: what breaks in it, such as an answer of a newer service, leaves the others as they are. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown) => reportError(thrown));
  if (error === undefined) return <>{children}</>;
  const say = shell();
  return (
    <div class="notice notice-error" role="alert">
      <p class="notice-title">{say.brokenTitle}</p>
      <p>{say.brokenText}</p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {say.reload}
      </button>
    </div>
  );
}
