// Builds the page into ../built, which is committed: users need no Node. `--check` builds in memory and compares.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const built = path.join(here, "..", "built");
/** Bytes of the page after gzip that are too many. */
const MOST_COMPRESSED = 350_000;

/** The license of each package that a build holds, with its name and release: its terms ask for that in every copy. */
async function notices(metafile) {
  const folders = new Set();
  for (const file of Object.keys(metafile.inputs)) {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file);
    if (found) folders.add(found[1]);
  }
  const texts = [];
  for (const folder of [...folders].sort()) {
    const { name, version } = JSON.parse(await readFile(path.join(here, folder, "package.json"), "utf8"));
    texts.push(`${name} ${version}\n\n${(await readFile(path.join(here, folder, "LICENSE"), "utf8")).trim()}\n`);
  }
  return `The page of Evenkeel holds these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
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
    metafile: true,
  });
  const files = new Map(result.outputFiles.map((file) => [path.basename(file.path), file.text]));
  files.set("index.html", await readFile(path.join(here, "index.html"), "utf8"));
  const licenses = await notices(result.metafile);
  files.set("third-party-notices.txt", licenses);
  // A report is one file, and goes on from hand to hand.
  files.set("app.js", `/*!\n${licenses.replaceAll("*/", "* /")}*/\n${files.get("app.js")}`);
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
