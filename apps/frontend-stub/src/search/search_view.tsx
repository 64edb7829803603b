import { texts } from "./messages";

export function SearchView() {
  return (
    <section aria-labelledby="search-title">
      <h1 id="search-title">{texts().title}</h1>
    </section>
  );
}
