import { messages } from "../i18n/messages";

export const texts = messages({
  es: { title: "Documents" },
  en: { title: "Documents" },
});
