import type { Degraded } from "../client/api";
import { messages } from "../i18n/messages";
import { reasonText } from "./reasons";
import { sourceName } from "./sources";

const say = messages({
  es: {
    title: "Respuesta parcial",
    text: "Estas fuentes no han participado del todo; lo demás sigue siendo válido.",
  },
  en: {
    title: "Partial result",
    text: "These sources did not fully take part; everything else is valid.",
  },
});

/** Which sources did not do their part, and why. Nothing where all did. */
export function DegradedNotice({ degraded }: { degraded: readonly Degraded[] }) {
  const texts = say();
  if (degraded.length === 0) return null;
  return (
    <div class="notice notice-warning" role="status">
      <p class="notice-title">{texts.title}</p>
      <p>{texts.text}</p>
      <ul>
        {degraded.map(({ source, reason }) => (
          <li key={source}>
            <b>{sourceName(source)}</b>: {reasonText(reason)}
          </li>
        ))}
      </ul>
    </div>
  );
}
