import { expect, test } from "vitest";
import type { AuditedEntry } from "../src/api-types";
import { byRisk, calmWord, filtered, type Risk } from "../src/model/risk";

/** Return a workload, whose place among all is that of its name. */
function workload(name: string, risks: Risk[], rank: number): AuditedEntry {
  const problems = risks.map((risk) => ({ risk }));
  const place = name.charCodeAt(0);
  return { kind: "Deployment", namespace: "shop", name, problems, rank, workload: place } as unknown as AuditedEntry;
}

const ALL = [
  workload("even", [], 7),
  workload("uneven", ["uneven"], 4.8),
  workload("b", ["pending", "violated"], -0.3),
  workload("a", ["violated"], -0.3),
  workload("c", ["violated"], -0.4),
];

test("workloads are listed by rank -0.4 < -0.3 = -0.3 < 4.8 < 7, then by name", () => {
  expect(byRisk(ALL).map((found) => found.name)).toEqual(["c", "a", "b", "uneven", "even"]);
});

test.each([
  ["SHOP/even", null, ["even"]],
  ["deployment uneven", null, ["uneven"]],
  ["", "pending" as const, ["b"]],
  ["nothing", null, []],
])("filter %j with risk %s", (text, risk, names) => {
  expect(filtered(ALL, { text, risk }).map((found) => found.name)).toEqual(names);
});

test.each([
  ["pending, but not for its spread", { pending: 1 }, "warning"],
  ["replicas without a pod", { replicas: 3 }, "warning"],
  ["no node has the key", { constraints: [{ domains: 0 }] }, "note"],
  ["no pod", { running: 0, replicas: 0 }, "note"],
  ["all is there", {}, "good"],
])("%s", (_name, part, tone) => {
  const base = { running: 1, replicas: 1, pending: 0, constraints: [{ domains: 2 }], problems: [] };
  expect(calmWord({ ...base, ...part } as unknown as AuditedEntry).tone).toBe(tone);
});

test("pods that pend for another reason than their spread are found, too", () => {
  const found = [{ ...workload("full", [], 1), pending: 2 }, ...ALL];
  expect(filtered(found, { text: "", risk: "without-node" }).map((each) => each.name)).toEqual(["full"]);
});
