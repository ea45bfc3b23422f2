import { expect, test } from "vitest";
import type { ExplainAnswer } from "../src/api-types";
import { minimumOf } from "../src/model/skew";
import { violations } from "../src/model/violations";

const APPLIED = { topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", maxSkew: 1 } as const;

function explained(matching: Record<string, number>): ExplainAnswer {
  const domains = Object.entries(matching).map(([value, pods]) => ({ value, matching: pods, counted: true }));
  const pods = Object.values(matching);
  const histogram = [...new Set(pods)].sort((a, b) => a - b).map((held) => ({ matching: held }));
  const skewNow = Math.max(...pods) - Math.min(...pods);
  const constraint = { ...APPLIED, domains, histogram, skewNow, allDomains: true };
  return { constraints: [constraint] } as unknown as ExplainAnswer;
}

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
