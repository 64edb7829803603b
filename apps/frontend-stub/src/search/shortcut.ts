import { signal } from "@preact/signals";

const STORED = "ragcorp.slash";

/** Whether "/" leads to the search box from anywhere. Who speaks to the machine can switch it off (WCAG 2.2, 2.1.4). */
export const slash = signal(stored());

export function chooseSlash(on: boolean): void {
  slash.value = on;
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // a browser that keeps nothing: it holds until the page is left
  }
}

function stored(): boolean {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}
