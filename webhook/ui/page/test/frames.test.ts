import { expect, test } from "vitest";
import type { RolloutFields, DomainChange, TracedStep } from "../src/api-types";
import { framesOf } from "../src/model/frames";

const DOMAINS: Record<string, string> = { n1: "a", n2: "b" };
const around = {
  domainOf: (node: string, key: string) => (key === "zone" ? (DOMAINS[node] ?? null) : null),
  running: [
    { name: "old-1", node: "n1" },
    { name: "old-2", node: "n2" },
  ],
};
/** The steps, with the skew that the server has after each. */
const trace = (skews: readonly number[]): TracedStep[] =>
  STEPS.map((step, at) => ({ ...step, skews: [skews[at] ?? 0] }));
const STEPS: Omit<TracedStep, "skews">[] = [
  { step: 1, action: "created", pod: "new-1", new: true, node: "n1" },
  { step: 2, action: "deleted", pod: "old-1", new: false, node: "n1" },
  { step: 3, action: "created", pod: "new-2", new: true, node: null },
  { step: 4, action: "deleted", pod: "old-2", new: false, node: "n2" },
  { step: 5, action: "scheduled", pod: "new-2", new: true, node: "n2" },
];

function course(
  after: Record<string, number>,
  steps = STEPS.length,
  skews: readonly number[] = [],
): RolloutFields["likely"] {
  return {
    outcome: "complete",
    trace: trace(skews),
    steps,
    pending: [],
    condition: "",
    lostVolumes: [],
    oldPods: 0,
    oldPending: 0,
    running: 2,
    evicted: [],
    evictedPending: 0,
    peaks: [],
    after: [after],
    skews: [0],
  };
}

function constraint(before: Record<string, number>): DomainChange {
  return { before, topologyKey: "zone", skewBefore: 0 } as DomainChange;
}

test("counts both revisions where the selector does: 1,1 -> 2,1 -> 1,1 -> 1,0 -> 1,1", () => {
  const counted = course({ a: 1, b: 1 }, 5, [1, 0, 0, 1, 0]);
  const { frames, exact } = framesOf(counted, constraint({ a: 1, b: 1 }), 0, around);
  expect(frames.map((frame) => frame.skew)).toEqual([0, 1, 0, 0, 1, 0]);
  expect(frames.map((frame) => frame.pending)).toEqual([0, 0, 0, 1, 1, 0]);
  expect(frames[2]?.old).toEqual({ a: 0, b: 1 });
  expect(exact).toBe(true);
});

test("counts the new revision only under matchLabelKeys: 0,0 -> 1,0 … -> 1,1", () => {
  const { frames, exact } = framesOf(course({ a: 1, b: 1 }), constraint({ a: 0, b: 0 }), 0, around);
  expect(frames.map((frame) => frame.fresh.b)).toEqual([0, 0, 0, 0, 0, 1]);
  expect(exact).toBe(true);
});

test("takes out an old pod that is evicted for a new one", () => {
  const steps: TracedStep[] = [
    { step: 1, action: "evicted", pod: "old-1", new: false, skews: [1], node: "n1", evictedFor: "shop/new-1" },
    { step: 2, action: "created", pod: "new-1", new: true, skews: [0], node: "n1", evicted: ["shop/old-1"] },
  ];
  const evicting = { ...course({ a: 1, b: 1 }, 2), trace: steps };
  const { frames, exact } = framesOf(evicting, constraint({ a: 1, b: 1 }), 0, around);
  expect(frames.map((frame) => frame.old.a)).toEqual([1, 0, 0]);
  expect(exact).toBe(true);
});

test("says when the counts do not end where the answer ends, or steps are missing", () => {
  expect(framesOf(course({ a: 5, b: 1 }), constraint({ a: 1, b: 1 }), 0, around).exact).toBe(false);
  expect(framesOf(course({ a: 1, b: 1 }, 2_000), constraint({ a: 1, b: 1 }), 0, around).exact).toBe(false);
});

test("takes a pod away that is evicted: 1,1 -> 1,0", () => {
  const evicted: TracedStep = {
    step: 1,
    action: "evicted",
    pod: "old-2",
    new: false,
    skews: [1],
    node: "n2",
    evictedFor: "a/b",
  };
  const { frames } = framesOf(
    { ...course({ a: 1, b: 0 }, 1), trace: [evicted] },
    constraint({ a: 1, b: 1 }),
    0,
    around,
  );
  expect(frames.map((frame) => frame.old)).toEqual([
    { a: 1, b: 1 },
    { a: 1, b: 0 },
  ]);
});
