import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { StoredDocument } from "../client/api";
import { Name } from "../common/text";
import { bytes, languageName, moment, number } from "../i18n/messages";
import { href } from "../state/route";
import { kindOf } from "./kinds";
import { texts } from "./messages";

const PLAIN_TYPE = "document"; // what a document is that nobody gave a type

export type RowActions = {
  select: (name: string, on: boolean) => void;
  selectAll: (on: boolean) => void;
  remove: (document: StoredDocument) => void;
  restore: (document: StoredDocument) => void;
};

type TableProps = {
  documents: readonly StoredDocument[];
  deleted: boolean;
  selected: ReadonlySet<string>;
  /** The name of the document whose row takes the focus, once it is there. */
  focus: Signal<string | null>;
  actions: RowActions;
};

/** The documents: a table where there is room, else one card each. */
export function DocumentTable({ documents, deleted, selected, focus, actions }: TableProps) {
  const say = texts();
  const all = documents.length > 0 && documents.every((document) => selected.has(document.external_id));
  return (
    <table class="documents">
      <caption class="visually-hidden">{say.list}</caption>
      <thead>
        <tr>
          {!deleted && (
            <th class="pick">
              <label>
                <input
                  type="checkbox"
                  checked={all}
                  onChange={(event) => actions.selectAll(event.currentTarget.checked)}
                />
                <span>{say.selectAll}</span>
              </label>
            </th>
          )}
          <th scope="col">{say.document}</th>
          <th scope="col">{say.kind}</th>
          <th scope="col" class="figure">
            {say.size}
          </th>
          <th scope="col">{say.language}</th>
          <th scope="col" class="figure">
            {say.passages}
          </th>
          <th scope="col">{deleted ? say.deletedAt : say.updatedAt}</th>
          <th scope="col">
            <span class="visually-hidden">{say.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {documents.map((document) => (
          <Row
            key={document.external_id}
            document={document}
            deleted={deleted}
            selected={selected.has(document.external_id)}
            focus={focus}
            actions={actions}
          />
        ))}
      </tbody>
    </table>
  );
}

type RowProps = { document: StoredDocument; deleted: boolean; selected: boolean } & Pick<
  TableProps,
  "focus" | "actions"
>;

function Row({ document, deleted, selected, focus, actions }: RowProps) {
  const say = texts();
  const name = document.external_id;
  return (
    <tr data-selected={selected}>
      {!deleted && (
        <td class="pick">
          <input
            type="checkbox"
            aria-label={say.selectOne(name)}
            checked={selected}
            onChange={(event) => actions.select(name, event.currentTarget.checked)}
          />
        </td>
      )}
      <th scope="row" class="titled">
        <Titled document={document} deleted={deleted} focus={focus} />
      </th>
      <td data-label={say.kind}>
        {kindOf(document.media_type)}
        {document.artifact_type !== PLAIN_TYPE && (
          <span class="quiet small">
            {" "}
            · <Name>{document.artifact_type}</Name>
          </span>
        )}
      </td>
      <td class="figure" data-label={say.size}>
        {bytes(document.size_bytes)}
      </td>
      <td data-label={say.language}>{languageName(document.language)}</td>
      <td class="figure" data-label={say.passages}>
        {number(document.chunks)}
        {document.pending > 0 && (
          <span class="chip pending" title={say.pendingHint}>
            {say.pending(document.pending)}
          </span>
        )}
      </td>
      <td class="when" data-label={deleted ? say.deletedAt : say.updatedAt}>
        {moment((deleted ? document.deleted_at : null) ?? document.updated_at)}
      </td>
      <td class="act">
        {deleted ? (
          <button
            type="button"
            class="button"
            aria-label={say.restoreOne(name)}
            onClick={() => actions.restore(document)}
          >
            {say.restore}
          </button>
        ) : (
          <button
            type="button"
            class="button plain"
            aria-label={say.deleteOne(name)}
            onClick={() => actions.remove(document)}
          >
            {say.delete}
          </button>
        )}
      </td>
    </tr>
  );
}

function Titled({ document, deleted, focus }: Pick<RowProps, "document" | "deleted" | "focus">) {
  const name = document.external_id;
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (focus.value !== name || link.current === null) return;
    link.current.focus();
    focus.value = null;
  }, [focus.value]);
  const title = <Name>{document.title || name}</Name>;
  return (
    <>
      {deleted ? (
        title
      ) : (
        <a ref={link} href={href({ view: "document", id: name, place: {} })}>
          {title}
        </a>
      )}
      {document.title && (
        <span class="quiet small external-id">
          <Name>{name}</Name>
        </span>
      )}
    </>
  );
}
