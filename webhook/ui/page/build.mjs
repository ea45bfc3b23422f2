// Builds the page into ../built, which is committed: users need no Node. `--check` builds in memory and compares.
import { createHash } from "node:crypto";
import { readFile, readdir, writeFile, mkdir } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const built = path.join(here, "..", "built");
/** Bytes of the page after gzip that are too many. */
const MOST_COMPRESSED = 350_000;

/** The files that decide what is built, by their path; docs/generator/built_page.py lists the same ones. */
async function sources() {
  const files = ["build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json"];
  for (const entry of await readdir(path.join(here, "src"), { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      files.push(path.relative(here, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"));
  }
  return files.sort();
}

async function digest() {
  const hash = createHash("sha256");
  for (const file of await sources()) {
    const content = createHash("sha256")
      .update(await readFile(path.join(here, file)))
      .digest("hex");
    hash.update(`${content}  ${file}\n`);
  }
  return `${hash.digest("hex")}\n`;
}

async function outputs() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx" },
    outdir: built,
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["es2022"],
    charset: "ascii",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "warning",
  });
  const files = new Map(result.outputFiles.map((file) => [path.basename(file.path), file.text]));
  files.set("index.html", await readFile(path.join(here, "index.html"), "utf8"));
  files.set("sources.sha256", await digest());
  return files;
}

function check(files) {
  const script = files.get("app.js");
  if (/<\/script|<!--/i.test(script)) throw new Error("app.js cannot stand in a page: it holds </script or <!--");
  const size = [...files.values()].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
  console.log(`The page is ${size.toLocaleString("en")} bytes after gzip.`);
  if (size > MOST_COMPRESSED) throw new Error(`more than ${MOST_COMPRESSED.toLocaleString("en")} bytes`);
}

const files = await outputs();
check(files);
if (process.argv.includes("--check")) {
  for (const [name, text] of files) {
    if ((await readFile(path.join(built, name), "utf8").catch(() => "")) !== text) {
      console.error(`webhook/ui/built/${name} is not what the sources build: run make ui`);
      process.exitCode = 1;
    }
  }
} else {
  await mkdir(built, { recursive: true });
  for (const [name, text] of files) await writeFile(path.join(built, name), text);
}
