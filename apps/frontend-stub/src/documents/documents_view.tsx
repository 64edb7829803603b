import { texts } from "./messages";

export function DocumentsView() {
  return (
    <section aria-labelledby="documents-title">
      <h1 id="documents-title">{texts().title}</h1>
    </section>
  );
}
