// Makes the client and the page anew, elsewhere, and says which committed files differ from that by a byte.
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CLIENT = join(ROOT, "src/client/schema.d.ts");
const PAGE = fileURLToPath(new URL("../../backend/ragcorp/interface/http/page", import.meta.url));

const anew = await mkdtemp(join(tmpdir(), "ragcorp-page-"));
try {
  const client = join(anew, "schema.d.ts");
  run("generate-client.mjs", client);
  if (!(await same(CLIENT, client))) tell("the client", "make page-client", ["src/client/schema.d.ts"]);

  const page = join(anew, "page");
  await build({ root: ROOT, logLevel: "warn", build: { outDir: page, emptyOutDir: true } });
  run("write-manifest.mjs", page);
  const names = new Set([...(await filesIn(PAGE)), ...(await filesIn(page))]);
  const differing = [];
  for (const name of names) if (!(await same(join(PAGE, name), join(page, name)))) differing.push(name);
  if (differing.length > 0) tell("the built page", "make page-build", differing.sort());
} finally {
  await rm(anew, { recursive: true });
}

function run(script, target) {
  execFileSync(process.execPath, [join(ROOT, "scripts", script), target], { stdio: "inherit" });
}

function tell(what, remedy, names) {
  console.error(`error: ${what} is not what its sources make: ${names.join(", ")}. \`${remedy}\` renews it.`);
  process.exitCode = 1;
}

async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((each) => each.isFile()).map((each) => relative(folder, join(each.parentPath, each.name)));
}

async function same(one, other) {
  const [first, second] = await Promise.all([one, other].map((file) => readFile(file).catch(() => null)));
  return first !== null && second !== null && first.equals(second);
}
