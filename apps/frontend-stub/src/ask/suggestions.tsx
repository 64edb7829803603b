import { useEffect, useMemo } from "preact/hooks";
import { api, type StoredDocument } from "../client/api";
import { answerOf } from "../client/transport";
import { Loader } from "../common/loader";
import { Name } from "../common/text";
import { href } from "../state/route";
import { texts } from "./messages";

const SHOWN = 3;
const LONGEST_TITLE = 200;

/** Before the first question: some documents to ask about, or the way to add one. Nothing where they cannot be seen. */
export function Suggestions({ choose }: { choose: (question: string) => void }) {
  const say = texts();
  const loader = useMemo(() => new Loader<StoredDocument[]>(), []);
  useEffect(() => {
    void loader.run(async (signal) => {
      const found = await answerOf(api.GET("/documents", { params: { query: { limit: SHOWN } }, signal }));
      return found.documents;
    });
    return () => loader.stop();
  }, [loader]);
  const { state, value } = loader.current.value;
  if (state !== "done") return null;
  if (value.length === 0) {
    return (
      <div class="suggestions">
        <p>{say.noDocuments}</p>
        <a class="button" href={href({ view: "documents" })}>
          {say.addDocuments}
        </a>
      </div>
    );
  }
  return (
    <div class="suggestions">
      <p class="quiet">{say.aboutDocuments}</p>
      <ul>
        {value.map(({ document_id, title }) => (
          <li key={document_id}>
            <button type="button" class="button" onClick={() => choose(say.about(shortened(title)))}>
              <Name>{shortened(title)}</Name>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function shortened(title: string): string {
  const points = Array.from(title);
  return points.length <= LONGEST_TITLE ? title : `${points.slice(0, LONGEST_TITLE).join("")}…`;
}
