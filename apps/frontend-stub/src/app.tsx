import { AskView } from "./ask/ask_view";
import { DocumentView } from "./document/document_view";
import { DocumentsView } from "./documents/documents_view";
import { HealthView } from "./health/health_view";
import { SearchView } from "./search/search_view";
import { Boundary } from "./shell/boundary";
import { Shell } from "./shell/shell";
import { route } from "./state/route";
import { session } from "./state/session";

/**
 * The views stay where they are while another one is shown: a conversation, a search and uploads go on. With another
 * key all of them begin anew: nothing that one key has seen is left for the next.
 */
export function App() {
  const at = route.value;
  return (
    <Shell>
      <div key={session.generation.value}>
        <div hidden={at.view !== "ask"}>
          <Boundary>
            <AskView />
          </Boundary>
        </div>
        <div hidden={at.view !== "search"}>
          <Boundary>
            <SearchView />
          </Boundary>
        </div>
        <div hidden={at.view !== "documents"}>
          <Boundary>
            <DocumentsView />
          </Boundary>
        </div>
        {at.view === "document" && (
          <Boundary key={at.id}>
            <DocumentView id={at.id} place={at.place} />
          </Boundary>
        )}
        {at.view === "health" && (
          <Boundary key="health">
            <HealthView />
          </Boundary>
        )}
      </div>
    </Shell>
  );
}
