import { expect, test } from "vitest";
import type { AuditedWorkload } from "../src/api-types";
import { byRisk, filtered, type Risk } from "../src/model/risk";

function workload(name: string, risks: Risk[], skew = 0): AuditedWorkload {
  const problems = risks.map((risk) => ({ risk }));
  return {
    kind: "Deployment",
    namespace: "shop",
    name,
    problems,
    constraints: [{ skew, maxSkew: 1 }],
  } as unknown as AuditedWorkload;
}

const ALL = [
  workload("even", []),
  workload("uneven", ["uneven"]),
  workload("b", ["pending", "violated"], 3),
  workload("a", ["violated"], 9),
  workload("c", ["violated"], 3),
];

test("workloads are listed by their worst risk, then by skew above maxSkew 9 > 3 = 3, then by name", () => {
  expect(byRisk(ALL).map((found) => found.name)).toEqual(["a", "b", "c", "uneven", "even"]);
});

test.each([
  ["SHOP/even", null, ["even"]],
  ["deployment uneven", null, ["uneven"]],
  ["", "pending" as const, ["b"]],
  ["nothing", null, []],
])("filter %j with risk %s", (text, risk, names) => {
  expect(filtered(ALL, { text, risk }).map((found) => found.name)).toEqual(names);
});
