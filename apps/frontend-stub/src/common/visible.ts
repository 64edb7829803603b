const CONTROLS = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/gu;

/**
 * Return a name with the controls of writing direction made visible: they could show `fdp.exe` as `exe.pdf`. A text of
 * two directions is set right by `dir="auto"`, without them.
 */
export function visible(name: string): string {
  return name.replace(
    CONTROLS,
    (control) => `[U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}
