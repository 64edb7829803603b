import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ErrorNotice, Progress } from "../common/notices";
import { number } from "../i18n/messages";
import { connection } from "../state/connection";
import { meaningOf } from "./flags";
import { texts } from "./messages";
import { lacksDatabase, partName, reasonOf, remedyOf } from "./parts";
import { type SourceState, type Status, StatusWatch } from "./status";
import "./health.css";

/** What of the service works, what it holds, and how it is set. */
export function HealthView() {
  const say = texts();
  const watch = useMemo(() => new StatusWatch(), []);
  useEffect(() => watch.start(), [watch]);
  const offline = connection.offline.value;
  useEffect(() => {
    const last = watch.loader.current.peek();
    if (!offline && last.state === "failed" && last.error.kind === "offline") void watch.look();
  }, [watch, offline]);
  const loading = watch.loader.current.value;
  return (
    <section aria-labelledby="health-title" class="health">
      <div class="row health-head">
        <h1 id="health-title">{say.title}</h1>
        {loading.value && <Seen at={loading.value.at} />}
        <button type="button" class="button" onClick={() => void watch.look()}>
          {say.refresh}
        </button>
      </div>
      {loading.state === "failed" && <ErrorNotice error={loading.error} retry={() => void watch.look()} />}
      {loading.state === "loading" && (loading.value === null || loading.slow) && <Progress slow={loading.slow} />}
      {loading.value && <Shown status={loading.value.status} stale={loading.state === "failed"} />}
    </section>
  );
}

/** `stale`: it is what was seen before a look failed, so nothing is said of how the service is now. */
function Shown({ status, stale }: { status: Status; stale: boolean }) {
  const say = texts();
  return (
    <>
      {stale ? (
        <p class="quiet">{say.stale}</p>
      ) : (
        <p class={`health-overall ${status.status}`} role="status">
          {say[status.status]}
        </p>
      )}
      <div class="health-columns">
        <Sources sources={status.sources} />
        <div>
          <Counts counts={status.counts} />
          <Embeddings embedding={status.embedding} />
        </div>
      </div>
      <Flags flags={status.flags} />
      <p class="quiet small">{say.version(status.version)}</p>
    </>
  );
}

function Sources({ sources }: { sources: readonly SourceState[] }) {
  const say = texts();
  return (
    <section class="card" aria-labelledby="health-sources">
      <h2 id="health-sources">{say.sources}</h2>
      <ul class="health-sources">
        {sources.map((each) => (
          <Part key={each.source} part={each} lacksDatabase={lacksDatabase(each, sources)} />
        ))}
      </ul>
    </section>
  );
}

function Part({ part, lacksDatabase }: { part: SourceState; lacksDatabase: boolean }) {
  const say = texts();
  const state = { ok: say.stateOk, degraded: say.stateDegraded, out: say.stateOut, off: say.stateOff };
  const reason = lacksDatabase ? { text: say.needsDatabase } : reasonOf(part);
  const remedy = lacksDatabase ? null : remedyOf(part);
  return (
    <li data-state={part.state}>
      <span class="health-dot" aria-hidden="true" />
      <div class="health-told">
        <div class="health-part">
          <b>{partName(part.source)}</b> <span>{state[part.state]}</span>
        </div>
        {reason && (
          <p class="small" lang={reason.lang}>
            {reason.text}
          </p>
        )}
        {remedy && (
          <p class="small quiet">
            {say.remedy}: <span lang={remedy.lang}>{remedy.text}</span>
          </p>
        )}
      </div>
    </li>
  );
}

function Counts({ counts }: { counts: Status["counts"] }) {
  const say = texts();
  const shown = ["documents", "deleted_documents", "chunks", "memories", "turns", "entities", "facts"] as const;
  return (
    <section class="card" aria-labelledby="health-counts">
      <h2 id="health-counts">{say.counts}</h2>
      {counts === null ? (
        <p>{say.noCounts}</p>
      ) : (
        <dl class="health-counts">
          {shown.map((name) => (
            <div key={name}>
              <dt>{say[name]}</dt>
              <dd>{number(counts[name])}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function Embeddings({ embedding: { model, pending, failed } }: { embedding: Status["embedding"] }) {
  const say = texts();
  return (
    <section class="card" aria-labelledby="health-embeddings">
      <h2 id="health-embeddings">{say.embeddings}</h2>
      <p>{model === null ? say.noModel : `${say.model}: ${model}`}</p>
      {model !== null && <p>{pending === null ? say.unknownPending : say.pending(pending)}</p>}
      {failed !== null && failed > 0 && <p class="health-failed">{say.failed(failed)}</p>}
    </section>
  );
}

function Flags({ flags }: { flags: Status["flags"] }) {
  const say = texts();
  return (
    <section class="card" aria-labelledby="health-flags">
      <h2 id="health-flags">{say.flags}</h2>
      <p class="quiet">{say.flagsText}</p>
      <table class="health-flags stacked">
        <thead>
          <tr>
            <th scope="col">{say.name}</th>
            <th scope="col">{say.value}</th>
            <th scope="col">{say.means}</th>
          </tr>
        </thead>
        <tbody>
          {flags.map((flag) => (
            <FlagRow key={flag.name} flag={flag} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function FlagRow({ flag }: { flag: Status["flags"][number] }) {
  const meaning = meaningOf(flag);
  return (
    <tr>
      <th scope="row">
        <code>{flag.name}</code>
      </th>
      <td>
        <code>{flag.value || "—"}</code> {flag.is_default && <span class="quiet small">{texts().isDefault}</span>}
      </td>
      <td lang={meaning.lang} class="small quiet">
        {meaning.text}
      </td>
    </tr>
  );
}

function Seen({ at }: { at: number }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    now.value = Date.now();
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  }, [at, now]);
  return <span class="quiet small">{texts().seen(Math.max(0, Math.round((now.value - at) / 1000)))}</span>;
}
