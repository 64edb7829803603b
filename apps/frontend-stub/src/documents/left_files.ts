import type { Found } from "./dropped";

let left: Found[] = [];

/** Keep the files that somebody without a key gave until there is one: the key was asked for because of them. */
export function leaveFiles(files: Found[]): void {
  left = files;
}

/** Take what was given without a key; it is there once. */
export function takeFilesLeft(): Found[] {
  const files = left;
  left = [];
  return files;
}
