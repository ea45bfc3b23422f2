import { expect, test } from "vitest";
import type { Theme } from "../src/model/draw";
import { tablePicture, wrapped, type CellLine } from "../src/model/tablePicture";

const THEME = Object.fromEntries(
  ["surface", "node", "line", "text", "muted", "warn", "bad", "accent"].map((name) => [name, `#${name}`]),
) as unknown as Theme;
const COLUMNS = [
  { title: "Workload", width: 400 },
  { title: "Risk", width: 400 },
];

function drawn(rows: CellLine[][][]): string {
  return tablePicture(
    "Workloads",
    ["3 < 4", "Cluster c"],
    { columns: COLUMNS, rows, noun: "workload", none: "None." },
    THEME,
  ).svg;
}

test("a list has its title, what it is about, its heads and its rows", () => {
  const svg = drawn([[[{ text: "web" }], [{ text: "maxSkew violated", tone: "error" }]]]);
  for (const words of ["Workloads", "3 &lt; 4", "Cluster c", "Risk", "web", "✕ maxSkew violated"])
    expect(svg).toContain(words);
});

test("only the signs and bars that there are have a legend", () => {
  const skew = { minimum: 1, most: 4, maxSkew: 1, hard: true };
  const both: CellLine[] = [
    { text: "a", tone: "good" },
    { text: "b", tone: "note" },
  ];
  const svg = drawn([[both, [{ text: "zone", skew }]]]);
  expect(svg).toContain("i a note, ✓ good");
  expect(svg).not.toContain("✕ wrong");
  expect(svg).toContain("line: what maxSkew allows");
  expect(svg).toContain('fill="#bad"');
});

test("of 63 rows 60 are drawn, and of none a sentence", () => {
  const svg = drawn(Array.from({ length: 63 }, (_, at) => [[{ text: `w${at}.` }], []]));
  expect(svg).toContain("w59.");
  expect(svg).not.toContain("w60.");
  expect(svg).toContain("and 3 more workloads");
  expect(drawn([])).toContain("None.");
});

test.each([
  ["a b c", 3, ["a b", "c"]],
  ["abcdef", 4, ["abc…"]],
  ["a b c d", 1, ["a", "b", "…"]],
  ["", 4, [""]],
])("%j in lines of %d", (text, most, lines) => {
  expect(wrapped(text, most)).toEqual(lines);
});
