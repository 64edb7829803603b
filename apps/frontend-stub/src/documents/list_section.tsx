import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Empty, ErrorNotice, Progress } from "../common/notices";
import { connection } from "../state/connection";
import type { DocumentList, Listed } from "./document_list";
import { DocumentTable, type RowActions } from "./document_table";
import { texts } from "./messages";

const TYPED_MILLISECONDS = 250;

type Props = {
  list: DocumentList;
  actions: RowActions & { removeSelected: () => void };
  focus: Signal<string | null>;
  /** Files are on their way: the list is asked for again, and again, and says nothing of a service that is busy. */
  uploading: boolean;
};

/** What is on the service. */
export function ListSection({ list, actions, focus, uploading }: Props) {
  const say = texts();
  const loading = list.loader.current.value;
  const { value } = loading;
  const shown = list.shown.value;
  const more = async () => {
    const next = shown.length;
    if (loading.state !== "loading") await list.more();
    const first = list.shown.value[next];
    if (first && list.loader.current.value.state === "done") focus.value = first.external_id;
  };
  return (
    <section class="listing" aria-labelledby="list-title" aria-busy={loading.state === "loading"}>
      <div class="row">
        <h2 id="list-title" tabIndex={-1}>
          {say.list}
        </h2>
        <span class="quiet" role="status">
          {value && say.shownCount(shown.length, value.next !== null)}
        </span>
      </div>
      <Tools list={list} removeSelected={actions.removeSelected} />
      {loading.state === "failed" && !(uploading && loading.error.kind === "busy") && <LoadFailure list={list} />}
      {shown.length > 0 && value && (
        <DocumentTable
          documents={shown}
          deleted={value.deleted}
          selected={list.selected.value}
          focus={focus}
          actions={actions}
        />
      )}
      {loading.state === "loading" && (value === null || loading.slow) && <Progress slow={loading.slow} />}
      {loading.state === "done" && shown.length === 0 && loading.value.next === null && (
        <Nothing listed={loading.value} />
      )}
      {value !== null && value.next !== null && (
        <button type="button" class="button" aria-disabled={loading.state === "loading"} onClick={more}>
          {say.more}
        </button>
      )}
    </section>
  );
}

function Tools({ list, removeSelected }: { list: DocumentList; removeSelected: () => void }) {
  const say = texts();
  const typed = useSignal(list.prefix.value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const ask = () => {
    clearTimeout(timer.current);
    list.prefix.value = typed.value;
    void list.reload();
  };
  const count = list.selected.value.size;
  return (
    <form
      class="row list-tools"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <label class="field">
        <span class="small">{say.filter}</span>
        <input
          type="search"
          maxLength={500}
          placeholder={say.filterHint}
          autocomplete="off"
          spellcheck={false}
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
            clearTimeout(timer.current);
            timer.current = setTimeout(ask, TYPED_MILLISECONDS);
          }}
        />
      </label>
      <label class="choice">
        <input
          type="checkbox"
          checked={list.deleted.value}
          onChange={(event) => {
            list.deleted.value = event.currentTarget.checked;
            void list.reload();
          }}
        />
        <span>{say.showDeleted}</span>
      </label>
      {!list.deleted.value && (
        <button type="button" class="button" disabled={count === 0} onClick={removeSelected}>
          {say.deleteSelected(count)}
        </button>
      )}
    </form>
  );
}

/** The page itself says that there is no key, and no connection; what was loaded is still there. */
function LoadFailure({ list }: { list: DocumentList }) {
  const say = texts();
  const loading = list.loader.current.value;
  const { offline } = connection;
  const failed = loading.state === "failed" ? loading.error : null;
  useEffect(() => {
    if (failed?.kind === "offline" && !offline.value) void list.reload();
  }, [offline.value]);
  if (failed === null || failed.kind === "unauthorised") return null;
  if (failed.kind !== "offline") return <ErrorNotice error={failed} retry={() => void list.reload()} />;
  return (
    <p class="row">
      {say.notLoaded}
      <button type="button" class="button" onClick={() => list.reload()}>
        {say.reload}
      </button>
    </p>
  );
}

function Nothing({ listed }: { listed: Listed }) {
  const say = texts();
  if (listed.deleted) return <Empty title={say.noDeleted} />;
  if (listed.prefix !== "") {
    return (
      <Empty title={say.noneTitle}>
        <p>{say.noneText}</p>
      </Empty>
    );
  }
  return (
    <Empty title={say.emptyTitle}>
      <p>{say.emptyText}</p>
    </Empty>
  );
}
