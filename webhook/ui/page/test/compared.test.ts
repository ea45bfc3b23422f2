import { expect, test } from "vitest";
import type { DomainStages, ExplainAnswer, SimulateAnswer, DomainChange } from "../src/api-types";
import { comparedDomains, violations } from "../src/model/compared";
import { minimumOf } from "../src/model/skew";

const APPLIED = {
  constraint: 0,
  topologyKey: "zone",
  whenUnsatisfiable: "DoNotSchedule",
  maxSkew: 1,
  minDomains: 1,
  origin: "pod",
} as const;
const PLACED = { ...APPLIED, before: { b: 1 }, after: { b: 2 }, skewBefore: 0, skew: 1 } as unknown as DomainChange;
const STAGE = {
  ...APPLIED,
  before: { a: 1, b: 1 },
  disrupted: { b: 1 },
  recovered: { b: 1 },
  skewBefore: 2,
  skew: 3,
} as unknown as DomainStages;

function answer(domains: DomainChange[], stages: DomainStages[] | null): SimulateAnswer {
  return { domains, whatIf: stages && { domains: stages } } as unknown as SimulateAnswer;
}

function explained(matching: Record<string, number>): ExplainAnswer {
  const domains = Object.entries(matching).map(([value, pods]) => ({ value, matching: pods, counted: true }));
  const pods = Object.values(matching);
  const histogram = [...new Set(pods)].sort((a, b) => a - b).map((held) => ({ matching: held }));
  const skewNow = Math.max(...pods) - Math.min(...pods);
  const constraint = { ...APPLIED, domains, histogram, skewNow, allDomains: true };
  return { constraints: [constraint] } as unknown as ExplainAnswer;
}

test.each([
  ["only placed: 1 -> 2", answer([PLACED], null), [{ b: 1 }, { b: 2 }], [0, 1]],
  ["placed after actions: before them, at the end", answer([PLACED], [STAGE]), [{ a: 1, b: 1 }, { b: 2 }], [2, 1]],
  ["actions and nothing to place: recovered is the end", answer([], [STAGE]), [{ a: 1, b: 1 }, { b: 1 }], [2, 3]],
  [
    "nothing happens: as explained",
    answer([], null),
    [
      { a: 3, b: 1 },
      { a: 3, b: 1 },
    ],
    [2, 2],
  ],
])("%s", (_name, found, [before, after], [skewBefore, skew]) => {
  const compared = comparedDomains(found, explained({ a: 3, b: 1 }));
  expect(compared).toMatchObject([{ constraint: 0, before, after, skewBefore, skew }]);
});

test.each([
  ["3 - 1 = 2 > 1", { a: 3, b: 1 }, [{ fullest: "a", skew: 2 }]],
  ["2 - 1 = 1", { a: 2, b: 1 }, []],
])("maxSkew 1 with %s", (_name, matching, expected) => {
  expect(violations(explained(matching))).toMatchObject(expected);
});

test.each([
  ["fewer domains than minDomains", 2, 0],
  ["the emptiest domain", 1, 1],
])("counts 2, 1: the minimum under a skew is %s", (_name, skew, minimum) => {
  expect(minimumOf(skew, { a: 2, b: 1 })).toBe(minimum);
  expect(minimumOf(0, {})).toBe(0);
});
