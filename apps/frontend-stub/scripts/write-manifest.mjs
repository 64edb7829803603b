// Writes page/manifest.json: the SHA-256 of each file that the built page was made from, and of each that it consists
// of. So a test tells without Node whether both are still so. An argument is another folder with a built page.
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = process.argv[2] ?? fileURLToPath(new URL("../../backend/ragcorp/interface/http/page", import.meta.url));
const TEST = /\.test\.tsx?$/;
const MADE_FROM = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];

const made = {
  sources: await hashes(ROOT, [...MADE_FROM, ...(await filesIn(ROOT, "src")).filter((name) => !TEST.test(name))]),
};
const files = (await filesIn(PAGE, ".")).filter((name) => name !== "manifest.json");
await writeFile(
  join(PAGE, "manifest.json"),
  `${JSON.stringify({ ...made, files: await hashes(PAGE, files) }, null, 1)}\n`,
);

async function filesIn(root, folder) {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/")).sort();
}

async function hashes(root, names) {
  const hashed = {};
  for (const name of names) {
    hashed[name] = createHash("sha256")
      .update(await readFile(join(root, name)))
      .digest("hex");
  }
  return hashed;
}
