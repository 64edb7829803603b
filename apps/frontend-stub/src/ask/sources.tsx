import { Name } from "../common/text";
import { Where } from "./citation_card";
import { OpenedAt } from "./cited";
import { type Citing, cardId, isOpen } from "./citing";
import { texts } from "./messages";

/** What an answer rests on; each opens in its place. */
export function Sources({ citing }: { citing: Citing }) {
  const citations = [...citing.known.values()];
  if (citations.length === 0) return null;
  return (
    <div class="answer-sources">
      <h3>{texts().sources}</h3>
      <ul>
        {citations.map((citation) => {
          const place = { at: `source-${citation.n}`, n: citation.n };
          const open = isOpen(citing, place);
          return (
            <li key={citation.n}>
              <button
                type="button"
                class="source-line"
                aria-expanded={open}
                aria-controls={open ? cardId(citing, place) : undefined}
                onClick={(event) => citing.toggle(place, event.currentTarget)}
              >
                <span class="source-number">[{citation.n}]</span>
                <span>
                  <Name>{citation.title}</Name>{" "}
                  <span class="quiet small source-where">
                    <Where citation={citation} />
                  </span>
                </span>
              </button>
              <OpenedAt at={place.at} citing={citing} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}
