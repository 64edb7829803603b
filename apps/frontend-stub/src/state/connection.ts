import { computed, signal } from "@preact/signals";

const browserSaysOnline = signal(navigator.onLine);
const lastFailed = signal(false);

addEventListener("online", () => {
  browserSaysOnline.value = true;
  lastFailed.value = false;
});
addEventListener("offline", () => {
  browserSaysOnline.value = false;
});

/** Whether the service can be reached, as far as the last request and the browser tell. */
export const connection = {
  offline: computed(() => !browserSaysOnline.value || lastFailed.value),
  failed(): void {
    lastFailed.value = true;
  },
  answered(): void {
    lastFailed.value = false;
    browserSaysOnline.value = true;
  },
};
