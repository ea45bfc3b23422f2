import { expect, test } from "vitest";
import type { Outcome, Step, Survival, Verdict } from "../src/api-types";
import {
  asSentence,
  changeWords,
  domainNoun,
  domainRows,
  lostColumns,
  nodeWords,
  spreadWords,
  stepWords,
  toneOf,
  waysWords,
} from "../src/model/outcome";

const ZONES = { before: { a: 4, b: 4, c: 2 }, after: { a: 7, b: 4, c: 0 } };

function survival(part: Partial<Survival>): Survival {
  return { ...ZONES, possible: 3, otherDomains: 0, fullestBefore: "a", fullest: "a", ...part } as Survival;
}

test("only what holds without a word of warning is green", () => {
  expect(toneOf({ value: true, cause: "fits" })).toBe("good");
  expect(toneOf({ value: true, cause: "one-domain" })).toBe("warning");
  expect(toneOf({ value: null, cause: "not-read" })).toBe("unknown");
  expect(toneOf({ value: false, cause: "pending" })).toBe("error");
});

test("a clause becomes a sentence, and a name at its beginning stays as it is", () => {
  expect(asSentence("the drain of n1 ends")).toBe("The drain of n1 ends.");
  expect(asSentence("shop/web keeps 6")).toBe("shop/web keeps 6.");
  expect(asSentence("Cannot evict pod.")).toBe("Cannot evict pod.");
});

test("a number that stays is said once, and what is new has none before", () => {
  expect([changeWords(4, 7), changeWords(4, 4), changeWords(null, 4)]).toEqual(["4 → 7", "4", "4"]);
});

test("domains are listed by name, and of many those first that change", () => {
  expect(domainRows(ZONES).map(({ name, before, after }) => [name, before, after])).toEqual([
    ["a", 4, 7],
    ["b", 4, 4],
    ["c", 2, 0],
  ]);
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`n${at}`, 1]));
  expect(domainRows({ before: many, after: { ...many, n7: 3 } })[0]?.name).toBe("n7");
  expect(domainRows({ before: null, after: { a: 1 } })[0]?.before).toBeNull();
});

test("how pods are spread is said with what could be, and the fullest domain", () => {
  expect(spreadWords(survival({}))).toBe("Pods in 3 → 2 of 3 that could have some; the fullest is a with 4 → 7.");
  expect(spreadWords(survival({ fullestBefore: "b", possible: null }))).toBe(
    "Pods in 3 → 2; the fullest was b with 4, and is a with 7.",
  );
  expect(spreadWords(survival({ fullest: null, after: {} }))).toContain("none runs at the end");
});

test("other ways are named by how many end worse", () => {
  const worst = { sentence: "shop/web deadlocks" } as Verdict;
  const branches = { tried: 53, exact: false, endsWorse: 3, worst, worstSkews: [] };
  expect(waysWords({ branches } as unknown as Outcome)).toBe("Chance decides: in 3 of 53 ways shop/web deadlocks.");
  expect(waysWords({ branches: { ...branches, endsWorse: 0 } } as unknown as Outcome)).toContain("not all; none");
  expect(waysWords({ branches: null } as Outcome)).toBe("");
});

test("a step is said with its revision, where there are two", () => {
  const step: Step = { event: 0, did: "bound", pod: "shop/web-1", node: "n1", new: true, why: null };
  expect(stepWords(step)).toBe("new pod shop/web-1 goes to n1");
  expect(stepWords({ ...step, new: null, did: "evicted" })).toBe("shop/web-1 is evicted from n1");
  expect(stepWords({ ...step, pod: null, new: null, did: "lost" })).toBe("node n1 is lost");
});

test("lost domains are in the order of their names", () => {
  const lost = (value: string): Outcome =>
    ({ scenario: { events: [{ lose: { topologyKey: "zone", value } }] } }) as unknown as Outcome;
  expect(lostColumns([lost("b"), lost("a10"), lost("a9")]).map(({ value }) => value)).toEqual(["a9", "a10", "b"]);
  expect(domainNoun("kubernetes.io/hostname")).toBe("node");
});

test("nodes that come are counted by group, with what an hour costs", () => {
  const node = { name: "new-1", group: "spot", zone: "a", price: 0.5 };
  const nodes = { added: [node, { ...node, name: "new-2" }], removed: [], costPerHour: 1 };
  expect(nodeWords({ nodes } as unknown as Outcome)).toEqual([
    "2 nodes would be added: 2 of spot in zone a.",
    "An hour would cost +1.00.",
  ]);
});
