import type { Found } from "./dropped";

/** `refused`: they were given under a key that was refused later, so the next one may be somebody else's. */
export type Left = { files: Found[]; refused: boolean };

const NONE: Left = { files: [], refused: false };
let left = NONE;

/** Keep the files that were not sent for want of a valid key until there is one. */
export function leaveFiles(files: Left): void {
  left = files;
}

/** Take what was kept; it is there once. */
export function takeFilesLeft(): Left {
  const files = left;
  left = NONE;
  return files;
}
