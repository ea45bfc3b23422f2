import { expect, test } from "vitest";
import { quoted } from "../src/model/actions";
import { escaped } from "../src/model/draw";
import { skewScale } from "../src/model/skew";
import { checkWords } from "../src/model/verdicts";
import { age, printable } from "../src/model/words";
import { labelsOf } from "../src/model/selectors";

test("a shell takes every word as one", () => {
  expect(quoted("it's $(rm)")).toBe(`'it'\\''s $(rm)'`);
});

test("markup of names stays text in pictures", () => {
  expect(escaped(`<script>"&\u0000\ud800`)).toBe("&lt;script&gt;&quot;&amp;\\x00\\ud800");
});

test("the operands of the filter are those of kube-scheduler: 2 + 1 - 0 = 3 > 1", () => {
  const check = {
    constraint: 0,
    domain: "a",
    matching: 2,
    selfMatch: 1 as const,
    globalMinimum: 0,
    skew: 3,
    maxSkew: 1,
    satisfied: false,
  };
  const constraints = [{ topologyKey: "topology.kubernetes.io/zone" }];
  expect(checkWords(check, constraints)).toBe("zone: 2 matching + 1 self − 0 minimum = 3 > maxSkew 1");
});

test("a huge maxSkew does not make bars invisible", () => {
  const scale = skewScale([3, 1], 1, 1_000_000);
  expect(scale.at(3)).toBeGreaterThan(40);
  expect(scale.limit).toBe(1_000_001);
});

test.each([
  [1, "1 second ago"],
  [119, "119 seconds ago"],
  [121, "2 minutes ago"],
  [3 * 86_400, "3 days ago"],
])("%i seconds are %s", (seconds, expected) => {
  expect(age("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:00:00Z") + seconds * 1000)).toBe(expected);
});

test.each([
  ["app=web,tier=front", { app: "web", tier: "front" }],
  ["app=web,pod-template-hash in (5d9)", { app: "web" }],
  ["app in (a,b)", null],
  ["app!=web", null],
  ["", null],
  [null, null],
])("the labels of selector %s", (selector, labels) => {
  expect(labelsOf(selector)).toEqual(labels);
});

test.each([
  ["web \u05d0 é 😀", "web \u05d0 é 😀"],
  ["a\u202eb\u2066c", "a\\u202eb\\u2066c"],
  ["\u001b[31m\n\u00a0", "\\x1b[31m\\n\\xa0"],
  ["\u{e0041}\ud800", "\\U000e0041\\ud800"],
])("%j is shown as %s", (text, expected) => {
  expect(printable(text)).toBe(expected);
});
