import { signal } from "@preact/signals";

const STORED = "ragcorp.key";

/**
 * The key in hand. It is in memory, and in the storage of this tab only where its owner chose so: never in a cookie,
 * in an address or in storage that outlives the tab.
 */
class Session {
  readonly key = signal<string | null>(stored());
  readonly kept = signal(stored() !== null);
  /** A request was refused for want of a valid key. */
  readonly needsKey = signal(false);
  /** Grows with each change of key: what was shown under the one before is thrown away. */
  readonly generation = signal(0);

  private controller = new AbortController();

  /** Return a signal that is aborted when the key changes. */
  readonly changed = (): AbortSignal => this.controller.signal;

  use(key: string, keep: boolean): void {
    this.kept.value = keep && store(key);
    if (!keep) forget();
    this.switchTo(key);
  }

  leave(): void {
    forget();
    this.kept.value = false;
    this.switchTo(null);
  }

  refused(): void {
    this.needsKey.value = true;
  }

  /** What was asked for with the key in hand was given. */
  accepted(): void {
    this.needsKey.value = false;
  }

  private switchTo(key: string | null): void {
    this.controller.abort();
    this.controller = new AbortController();
    this.key.value = key;
    this.needsKey.value = false;
    this.generation.value += 1;
  }
}

function stored(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null; // a browser that keeps nothing
  }
}

function store(key: string): boolean {
  try {
    sessionStorage.setItem(STORED, key);
    return true;
  } catch {
    return false;
  }
}

function forget(): void {
  try {
    sessionStorage.removeItem(STORED);
  } catch {
    // nothing was kept
  }
}

export const session = new Session();
