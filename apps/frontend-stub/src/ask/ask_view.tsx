import { texts } from "./messages";

export function AskView() {
  return (
    <section aria-labelledby="ask-title">
      <h1 id="ask-title">{texts().title}</h1>
    </section>
  );
}
