/** A file and the name that it is stored under: its path below the folder that was given, in Unicode's form NFC. */
export type Found = { externalId: string; file: File };

/** What was given, and what of it is not sent. */
export type Gathered = {
  found: Found[];
  /** Paths of files that no person has written: hidden ones and those of the system. */
  skipped: string[];
  /** Paths of files without content. */
  empty: string[];
  /** Paths that the browser could not read. */
  unreadable: string[];
  /** Names that more than one file has; only the first of them is sent, as a name is of one document. */
  alike: string[];
};

const OF_SYSTEM = new Set(["thumbs.db", "desktop.ini", "__macosx", "icon\r", "$recycle.bin"]);

/** Say whether a path is hidden, or of the system, or the lock of an office program. */
export function isSkipped(path: string): boolean {
  return path.split("/").some((part) => {
    return part.startsWith(".") || part.startsWith("~$") || OF_SYSTEM.has(part.toLowerCase());
  });
}

/** Return what a file input was given, by files or by a folder. */
export function chosen(files: Iterable<File>): Gathered {
  const gathered = nothing();
  for (const file of files) take(gathered, file.webkitRelativePath || file.name, file);
  return sorted(gathered);
}

/** Return what was dropped, folders with all that is in them. To be called within the event: it is empty afterwards. */
export async function dropped(transfer: DataTransfer): Promise<Gathered> {
  const entries = Array.from(transfer.items, (item) => (item.kind === "file" ? item.webkitGetAsEntry() : null));
  const files = Array.from(transfer.files);
  if (entries.every((entry) => entry === null)) return chosen(files);
  const gathered = nothing();
  for (const entry of entries) if (entry !== null) await walk(gathered, entry);
  return sorted(gathered);
}

async function walk(gathered: Gathered, entry: FileSystemEntry): Promise<void> {
  const path = entry.fullPath.replace(/^\//, "");
  if (isSkipped(path)) {
    gathered.skipped.push(path);
    return;
  }
  try {
    if (entry.isFile) take(gathered, path, await fileOf(entry as FileSystemFileEntry));
    else for (const inner of await entriesOf(entry as FileSystemDirectoryEntry)) await walk(gathered, inner);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    gathered.unreadable.push(path);
  }
}

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // a browser hands them out by the hundred, and none when there are no more
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

function take(gathered: Gathered, path: string, file: File): void {
  const externalId = path.normalize("NFC");
  if (isSkipped(externalId)) gathered.skipped.push(externalId);
  else if (file.size === 0) gathered.empty.push(externalId);
  else gathered.found.push({ externalId, file });
}

function nothing(): Gathered {
  return { found: [], skipped: [], empty: [], unreadable: [], alike: [] };
}

/** Sort the files by name, and keep one of each. */
function sorted(gathered: Gathered): Gathered {
  gathered.found.sort((a, b) => (a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0));
  const [found, alike]: [Found[], string[]] = [[], []];
  for (const each of gathered.found) {
    if (found.at(-1)?.externalId === each.externalId) alike.push(each.externalId);
    else found.push(each);
  }
  return { ...gathered, found, alike };
}
