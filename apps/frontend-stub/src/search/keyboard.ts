/** Return the place (from 0) that a key leads to in a list, null where it leads nowhere. -1 is above the list. */
export function moved(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
    case "j":
      return Math.min(at + 1, count - 1);
    case "ArrowUp":
    case "k":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}

const WRITTEN = ":is(input:not([type='checkbox'], [type='radio']), textarea, select, [contenteditable])";

/** Say whether a letter or sign that is pressed there writes, or chooses, something. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches(WRITTEN);
}

/** Say whether a key comes with another that makes it a command of the browser, or is part of a composed character. */
export function isPlain(event: KeyboardEvent): boolean {
  return !(event.ctrlKey || event.altKey || event.metaKey || event.isComposing);
}
