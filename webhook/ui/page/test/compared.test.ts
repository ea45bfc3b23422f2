import { expect, test } from "vitest";
import type { DomainStages, ExplainAnswer, SimulateAnswer, DomainChange } from "../src/api-types";
import { comparedDomains, violations } from "../src/model/compared";
import { minimumOf, skewOf } from "../src/model/skew";

const APPLIED = {
  constraint: 0,
  topologyKey: "zone",
  whenUnsatisfiable: "DoNotSchedule",
  maxSkew: 1,
  minDomains: 1,
  origin: "pod",
} as const;
const PLACED = { ...APPLIED, before: { b: 1 }, after: { b: 2 } } as unknown as DomainChange;
const STAGE = {
  ...APPLIED,
  before: { a: 1, b: 1 },
  disrupted: { b: 1 },
  recovered: { b: 1 },
} as unknown as DomainStages;

function answer(domains: DomainChange[], stages: DomainStages[] | null): SimulateAnswer {
  return { domains, whatIf: stages && { domains: stages } } as unknown as SimulateAnswer;
}

function explained(matching: Record<string, number>): ExplainAnswer {
  const domains = Object.entries(matching).map(([value, pods]) => ({ value, matching: pods, counted: true }));
  const pods = Object.values(matching);
  const histogram = [...new Set(pods)].sort((a, b) => a - b).map((held) => ({ matching: held }));
  const constraint = { ...APPLIED, domains, histogram, globalMinimum: Math.min(...pods), allDomains: true };
  return { constraints: [constraint] } as unknown as ExplainAnswer;
}

test.each([
  ["only placed: 1 -> 2", answer([PLACED], null), [{ b: 1 }, { b: 2 }]],
  ["placed after actions: before them, at the end", answer([PLACED], [STAGE]), [{ a: 1, b: 1 }, { b: 2 }]],
  ["actions and nothing to place: recovered is the end", answer([], [STAGE]), [{ a: 1, b: 1 }, { b: 1 }]],
  [
    "nothing happens: as explained",
    answer([], null),
    [
      { a: 3, b: 1 },
      { a: 3, b: 1 },
    ],
  ],
])("%s", (_name, found, [before, after]) => {
  expect(comparedDomains(found, explained({ a: 3, b: 1 }))).toMatchObject([{ constraint: 0, before, after }]);
});

test.each([
  ["3 - 1 = 2 > 1", { a: 3, b: 1 }, [{ fullest: "a", skew: 2 }]],
  ["2 - 1 = 1", { a: 2, b: 1 }, []],
])("maxSkew 1 with %s", (_name, matching, expected) => {
  expect(violations(explained(matching))).toMatchObject(expected);
});

test.each([
  ["DoNotSchedule", 3, 0, 2],
  ["DoNotSchedule", 2, 1, 1],
  ["ScheduleAnyway", 3, 1, 1],
] as const)("counts 2, 1 under %s with minDomains %i: minimum %i, skew %i", (when, minDomains, minimum, skew) => {
  const constraint = { whenUnsatisfiable: when, minDomains };
  expect(minimumOf(constraint, { a: 2, b: 1 })).toBe(minimum);
  expect(skewOf(constraint, { a: 2, b: 1 })).toBe(skew);
  expect(skewOf(constraint, {})).toBe(0);
});
