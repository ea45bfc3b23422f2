import { expect, test } from "vitest";
import type { ConstraintOutcome, Step } from "../src/api-types";
import { framesOf } from "../src/model/frames";

const DOMAINS: Record<string, string> = { n1: "a", n2: "b" };
const around = {
  domainOf: (node: string, key: string) => (key === "zone" ? (DOMAINS[node] ?? null) : null),
  running: [
    { name: "old-1", node: "n1" },
    { name: "old-2", node: "n2" },
  ],
  waiting: [],
};

function step(did: Step["did"], pod: string, node: string | null, fresh: boolean | null): Step {
  return { event: 0, did, pod: `shop/${pod}`, node, new: fresh, why: null };
}
const STEPS: Step[] = [
  step("bound", "new-1", "n1", true),
  step("deleted", "old-1", "n1", false),
  step("pending", "new-2", null, true),
  step("deleted", "old-2", "n2", false),
  step("bound", "new-2", "n2", true),
];

function constraint(before: Record<string, number>, after: Record<string, number>, minDomains = 1): ConstraintOutcome {
  return { before, after, topologyKey: "zone", minDomains, skew: 0 } as ConstraintOutcome;
}

test("counts both revisions where the selector does: 1,1 -> 2,1 -> 1,1 -> 1,0 -> 1,1", () => {
  const { frames, exact } = framesOf(STEPS, constraint({ a: 1, b: 1 }, { a: 1, b: 1 }), around);
  expect(frames.map((frame) => frame.skew)).toEqual([0, 1, 0, 0, 1, 0]);
  expect(frames.map((frame) => frame.pending)).toEqual([0, 0, 0, 1, 1, 0]);
  expect(frames[2]?.old).toEqual({ a: 0, b: 1 });
  expect(exact).toBe(true);
});

test("counts the new revision only under matchLabelKeys: 0,0 -> 1,0 … -> 1,1", () => {
  const { frames, exact } = framesOf(STEPS, constraint({ a: 0, b: 0 }, { a: 1, b: 1 }), around);
  expect(frames.map((frame) => frame.fresh.b)).toEqual([0, 0, 0, 0, 0, 1]);
  expect(exact).toBe(true);
});

test("pods that wait are counted from the start, until they are deleted", () => {
  const steps = [step("deleted", "old-3", null, false), ...STEPS];
  const waiting = { ...around, waiting: ["old-3", "old-4"] };
  const { frames } = framesOf(steps, constraint({ a: 1, b: 1 }, { a: 1, b: 1 }), waiting);
  expect(frames.map((frame) => frame.pending)).toEqual([2, 1, 1, 1, 2, 2, 1]);
});

test("with fewer domains than minDomains the minimum is 0", () => {
  const { frames, exact } = framesOf([], constraint({ a: 1, b: 1 }, { a: 1, b: 1 }, 3), around);
  expect(frames.map((frame) => frame.skew)).toEqual([1]);
  expect(exact).toBe(false);
});

test("says when the counts do not end where the answer ends", () => {
  expect(framesOf(STEPS, constraint({ a: 1, b: 1 }, { a: 5, b: 1 }), around).exact).toBe(false);
});

test("takes a pod off its node that is lost or evicted: 1,1 -> 1,0", () => {
  const { frames } = framesOf([step("lost", "old-2", "n2", null)], constraint({ a: 1, b: 1 }, { a: 1, b: 0 }), around);
  expect(frames.map((frame) => frame.fresh)).toEqual([
    { a: 1, b: 1 },
    { a: 1, b: 0 },
  ]);
});
