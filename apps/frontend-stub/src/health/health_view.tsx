import { texts } from "./messages";

export function HealthView() {
  return (
    <section aria-labelledby="health-title">
      <h1 id="health-title">{texts().title}</h1>
    </section>
  );
}
