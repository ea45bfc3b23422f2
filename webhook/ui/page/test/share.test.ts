import { expect, test } from "vitest";
import { fragmentOf } from "../src/model/share";

const saved = (document: unknown): string =>
  `<body><script type="application/json" id="evenkeel-report">${JSON.stringify({ kind: "page", document })}</script>`;

test.each([
  ["a link", "http://127.0.0.1:8083/?token=a#/cluster?do=drain:n1", "#/cluster?do=drain:n1"],
  ["its end", "  #/pending\n", "#/pending"],
  ["a saved view", saved({ fragment: "#/workloads", answers: {} }), "#/workloads"],
  ["a report of a command", saved({ nodes: 3 }), null],
  ["a manifest with a comment", "kind: Pod\n#/cluster", null],
  ["a page", "<html>#/cluster</html>", null],
])("%s", (_name, text, fragment) => {
  expect(fragmentOf(text)).toBe(fragment);
});
