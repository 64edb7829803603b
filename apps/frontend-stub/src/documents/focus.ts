/**
 * Give the focus to the first of these that is there, where what had it, such as the button that was pressed, is gone
 * once the page is drawn.
 */
export function focusInstead(...ids: string[]): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    ids
      .map((id) => document.getElementById(id))
      .find((element) => element !== null)
      ?.focus();
  });
}
