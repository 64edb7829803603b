import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reach, reachAgain } from "../client/reach";
import { PageNotice } from "../common/notices";
import { connection } from "../state/connection";
import { chooseLanguage, chooseTheme, type Language, language, type Theme, theme } from "../state/preferences";
import { href, type Route, route, type View } from "../state/route";
import { session } from "../state/session";
import { KeyDialog, keyDialog } from "./key_dialog";
import { shell } from "./messages";

type Section = Extract<Route, { view: "ask" | "search" | "documents" | "health" }>;

const SECTIONS: readonly Section[] = [{ view: "ask" }, { view: "search" }, { view: "documents" }, { view: "health" }];

/** What stands around every view: the sections, the key, language and theme, and what keeps the page from working. */
export function Shell({ children }: { children: ComponentChildren }) {
  const say = shell();
  const main = useRef<HTMLElement>(null);
  useArrival(main);
  useEffect(() => (connection.offline.value ? reachAgain() : undefined), [connection.offline.value]);
  const skip = (event: Event) => {
    event.preventDefault(); // the address says which view it is
    main.current?.focus();
    main.current?.scrollIntoView();
  };
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it leads within the page, and leaves the address as it is */}
      <a class="skip" href="#main" onClick={skip}>
        {say.skip}
      </a>
      <header class="top">
        <a class="brand" href={href({ view: "ask" })}>
          ragcorp
        </a>
        <nav aria-label={say.sections}>
          {SECTIONS.map((to) => (
            <a key={to.view} href={href(to)} aria-current={isCurrent(to) ? "page" : undefined}>
              {say[to.view]}
            </a>
          ))}
        </nav>
        <Settings />
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        {connection.offline.value && <PageNotice kind="offline" retry={() => void reach()} />}
        {session.needsKey.value && <PageNotice kind="unauthorised" />}
        {children}
      </main>
      <KeyDialog />
    </>
  );
}

/** Views that stay as they were while another one is shown; who comes back is put where the view was left. */
const KEPT: ReadonlySet<View> = new Set<View>(["ask", "documents"]);

/** Name the page after the view; who goes to another one is put at its beginning, as by a link to another page. */
function useArrival(main: { current: HTMLElement | null }): void {
  const { view } = route.value;
  const arrived = useRef(view);
  const left = useRef(new Map<View, number>());
  if (arrived.current !== view && !left.current.has(arrived.current)) left.current.set(arrived.current, scrollY);
  useEffect(() => left.current.clear(), [session.generation.value]);
  document.title = `${shell()[view]} · ragcorp`;
  useEffect(() => {
    if (arrived.current === view) return;
    arrived.current = view;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, KEPT.has(view) ? (left.current.get(view) ?? 0) : 0);
    left.current.delete(view); // it is at another place by the time it is left
  }, [view, main]);
}

function Settings() {
  const say = shell();
  const keyed = session.key.value !== null && !session.needsKey.value; // one that was refused is of no use
  return (
    <div class="settings">
      <button type="button" class="button" onClick={keyDialog.open} data-active={keyed}>
        {keyed ? say.keyInUse : say.key}
      </button>
      <select
        aria-label={say.language}
        value={language.value}
        onChange={(event) => chooseLanguage(event.currentTarget.value as Language)}
      >
        <option value="es">Español</option>
        <option value="en">English</option>
      </select>
      <select
        aria-label={say.theme}
        value={theme.value}
        onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
      >
        <option value="system">{say.themeSystem}</option>
        <option value="light">{say.themeLight}</option>
        <option value="dark">{say.themeDark}</option>
      </select>
    </div>
  );
}

function isCurrent(to: Section): boolean {
  const { view } = route.value;
  return view === to.view || (view === "document" && to.view === "documents");
}
