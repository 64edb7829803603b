import { messages, number } from "../i18n/messages";

export const comparisonTexts = messages({
  es: {
    title: "Dos clasificaciones de la misma búsqueda",
    left: "Izquierda",
    right: "Derecha",
    dense: "Significado",
    sparse: "Texto",
    hybrid: "Híbrida",
    common: (shared: number, of: number) => `${number(shared)} de ${number(of)} pasajes están en las dos.`,
    hint: "Una línea une el mismo pasaje en las dos listas.",
    none: "Ningún resultado.",
    noQuery: "Escribe una búsqueda para comparar sus clasificaciones.",
    alone: "no está en la otra lista",
    same: (place: number) => `allí también n.º ${number(place)}`,
    there: (place: number) => `allí n.º ${number(place)}`,
    instead: (side: string, wanted: string, used: string) =>
      `${side}: la lista «${wanted}» no se puede hacer ahora; en su lugar se muestra «${used}».`,
  },
  en: {
    title: "Two rankings of the same search",
    left: "Left",
    right: "Right",
    dense: "Meaning",
    sparse: "Text",
    hybrid: "Hybrid",
    common: (shared: number, of: number) => `${number(shared)} of ${number(of)} passages are in both.`,
    hint: "A line joins the same passage in both lists.",
    none: "No results.",
    noQuery: "Type a search to compare its rankings.",
    alone: "not in the other list",
    same: (place: number) => `no. ${number(place)} there too`,
    there: (place: number) => `no. ${number(place)} there`,
    instead: (side: string, wanted: string, used: string) =>
      `${side}: “${wanted}” is not available right now; “${used}” is shown instead.`,
  },
});
