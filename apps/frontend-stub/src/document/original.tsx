import { useMemo } from "preact/hooks";
import { accepted, authorisedFetch, BASE } from "../client/transport";
import { Loader } from "../common/loader";
import { ErrorNotice } from "../common/notices";
import { session } from "../state/session";
import { texts } from "./messages";

type Props = { id: string; filename: string; page: number | undefined };

/** The way to the original: a link, or where a key is needed, which a link cannot carry, a download. */
export function Original({ id, filename, page }: Props) {
  const loader = useMemo(() => new Loader<null>(), []);
  const say = texts();
  const address = `documents/${encodeURIComponent(id)}/content`;
  if (session.key.value === null) {
    return (
      <a class="button as-link" href={`./${address}${page ? `#page=${page}` : ""}`} target="_blank" rel="noopener">
        {say.original}
      </a>
    );
  }
  const loading = loader.current.value;
  const save = () =>
    loader.run(async (signal) => {
      const response = await accepted(await authorisedFetch(`${BASE}/${address}`, { signal }));
      saveAs(await response.blob(), filename);
      return null;
    });
  return (
    <>
      <button type="button" class="button" disabled={loading.state === "loading"} onClick={save}>
        {loading.state === "loading" ? say.saving : say.saveOriginal}
      </button>
      {loading.state === "failed" && <ErrorNotice error={loading.error} retry={save} />}
    </>
  );
}

function saveAs(blob: Blob, filename: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000); // the browser has begun to read it by then
}
