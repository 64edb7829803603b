import { useEffect, useMemo } from "preact/hooks";
import type { DescribedDocument, StoredDocument } from "../client/api";
import { Empty, ErrorNotice, Progress } from "../common/notices";
import { Name } from "../common/text";
import { UnreadNotice } from "../common/unread";
import { isCode, kindOf, sensitivityName } from "../documents/kinds";
import { bytes, languageName, moment, number } from "../i18n/messages";
import { href, type Place } from "../state/route";
import { texts } from "./messages";
import { Original } from "./original";
import { Reader } from "./reader";
import { Reading } from "./reading";
import { Tools } from "./tools";
import "./document.css";

/** A document as it was taken in, opened at a place. */
export function DocumentView({ id, place }: { id: string; place: Place }) {
  const reader = useMemo(() => new Reader(id), []);
  const say = texts();
  useEffect(() => {
    void reader.open(place);
  }, [place]);
  useEffect(() => () => reader.stop(), []);

  const described = reader.document.current.value;
  const document = described.value;
  const missing = described.state === "failed" && described.error.kind === "missing";
  return (
    <section class="document-view" aria-labelledby="document-title">
      <a href={href({ view: "documents" })}>← {say.back}</a>
      <h1 id="document-title" tabIndex={-1}>
        <Name>{document?.title || id}</Name>
      </h1>
      {missing && (
        <Empty title={say.missingTitle}>
          <p>{say.missingText}</p>
        </Empty>
      )}
      {described.state === "failed" && !missing && described.error.kind !== "unauthorised" && (
        <ErrorNotice error={described.error} retry={() => void reader.open(place)} />
      )}
      {document && <About document={document} page={place.page} />}
      {!missing && <Text reader={reader} document={document} />}
    </section>
  );
}

function About({ document, page }: { document: DescribedDocument; page: number | undefined }) {
  const say = texts();
  return (
    <>
      <p class="quiet small path">
        <Name>{document.path ?? document.external_id}</Name>
      </p>
      <dl class="about small">
        <Fact name={say.kind}>{kindOf(document.media_type)}</Fact>
        <Fact name={say.language}>{languageName(document.language)}</Fact>
        <Fact name={say.size}>{bytes(document.size_bytes)}</Fact>
        <Fact name={say.passages}>{number(document.chunks)}</Fact>
        <Fact name={say.sensitivity}>{sensitivityName(document.sensitivity)}</Fact>
        {document.occurred_at && <Fact name={say.dated}>{moment(document.occurred_at)}</Fact>}
        <Fact name={say.created}>{moment(document.created_at)}</Fact>
        {document.updated_at !== document.created_at && <Fact name={say.updated}>{moment(document.updated_at)}</Fact>}
      </dl>
      {document.part_of && (
        <p class="small">
          {say.partOf} <DocumentLink id={document.part_of} />
        </p>
      )}
      <Parts names={document.parts} />
      <UnreadNotice unread={document.unread} />
      {document.recognition && (
        <p class="quiet small">
          {say.recognition(document.recognition.done, document.recognition.pages, document.recognition.failed)}
        </p>
      )}
      {document.pending > 0 && <p class="quiet small">{say.pending(document.pending)}</p>}
      <div class="row">
        <Original id={document.external_id} filename={document.filename} page={page} />
      </div>
    </>
  );
}

function Parts({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <details class="small">
      <summary>{texts().parts(names.length)}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>
            <DocumentLink id={name} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function DocumentLink({ id }: { id: string }) {
  return (
    <a href={href({ view: "document", id, place: {} })}>
      <Name>{id}</Name>
    </a>
  );
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Text({ reader, document }: { reader: Reader; document: StoredDocument | null }) {
  const say = texts();
  const loading = reader.loader.current.value;
  const { length } = reader.passages.value;
  const more = async () => {
    await reader.more();
    if (reader.complete.value && reader.passages.value.length > length) reader.goTo(length); // the button is gone
  };
  return (
    <>
      {length > 0 && <Tools reader={reader} />}
      <div role="status">
        {reader.lost.value && <p class="notice">{reader.located.value ? say.lost : say.nowhere}</p>}
      </div>
      <section
        class={document && isCode(document) ? "card code" : "card"}
        aria-label={say.text}
        aria-busy={loading.state === "loading"}
      >
        <Reading reader={reader} />
        {loading.state === "loading" && <Progress slow={loading.slow} />}
        {loading.state === "failed" && loading.error.kind !== "unauthorised" && (
          <ErrorNotice error={loading.error} retry={() => reader.retry()} />
        )}
        {loading.state === "done" && length === 0 && <Empty title={say.noText} />}
        {length > 0 && !reader.complete.value && (
          <div class="row">
            {document && <span class="quiet small">{say.loaded(length, document.chunks)}</span>}
            <button type="button" class="button" onClick={more}>
              {say.more}
            </button>
          </div>
        )}
      </section>
    </>
  );
}
