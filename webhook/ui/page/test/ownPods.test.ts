import { describe, expect, test } from "vitest";
import type { ClusterMap, PlayedWhatIf, Step } from "../src/api-types";
import { Cluster } from "../src/model/cluster";
import { ownMap } from "../src/model/ownMap";
import { held, mostHeld, podsAfter, podsAtStep, runningPods } from "../src/model/ownPods";

const RUNNING = [
  { name: "old-1", node: "n1" },
  { name: "old-2", node: "n2" },
];
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
const KEY = { kind: "Deployment", namespace: "shop", name: "web" };
const cluster = new Cluster({
  topologyKeys: ["zone"],
  nodes: {
    names: ["n1", "n2"],
    cordoned: [],
    notReady: [],
    taints: { values: [[]], of: [0, 0] },
    labels: { zone: { values: ["a", "b"], of: [0, 1] } },
  },
  workloads: { kinds: [], namespaces: [], kind: [], namespace: [], name: [] },
  pods: { node: [], workload: [] },
} as unknown as ClusterMap);

/** The pods as "node" or "node old", with * for those that have just come. */
function words(step: number): string[] {
  return podsAtStep(STEPS, RUNNING, [], step).pods.map(
    ({ node, old, from }) => `${node ?? "none"}${old ? " old" : ""}${from === "" ? "*" : ""}`,
  );
}

test.each([
  [0, ["n1 old", "n2 old"], []],
  [1, ["n1 old", "n2 old", "n1*"], []],
  [2, ["n2 old", "n1"], ["n1"]],
  [3, ["n2 old", "n1", "none"], []],
  [5, ["n1", "n2*"], []],
])("after step %i of a rollout the pods are %j, and have gone from %j", (step, pods, gone) => {
  expect(words(step)).toEqual(pods);
  expect(podsAtStep(STEPS, RUNNING, [], step).gone).toEqual(gone);
});

test("a node has room for the most pods of any step", () => {
  expect([...mostHeld(STEPS, RUNNING, [])]).toEqual([
    ["n1", 2],
    ["n2", 1],
  ]);
});

describe("a what-if", () => {
  const answer = (steps: Step[], waiting: string[] = []): PlayedWhatIf => {
    const own = { steps: steps.map((_, at) => at), waiting };
    return { outcome: { steps }, moved: [], own } as unknown as PlayedWhatIf;
  };
  const lost = [step("lost", "old-1", "n1", null), step("bound", "old-1", "n2", null)];

  test("moves the pod of a lost node, and keeps what waits as a ghost", () => {
    const found = podsAfter(answer([...lost, step("pending", "new-1", null, null)]), RUNNING, 2);
    expect(found?.pods.map(({ node, from }) => [node, from])).toEqual([
      ["n2", "n1"],
      ["n2", null],
      [null, null],
    ]);
    expect([...held(found ?? { pods: [], gone: [] })]).toEqual([
      ["n2", 2],
      ["n1", 1],
    ]);
  });

  test("leaves a place where a pod was that fits nowhere", () => {
    const found = podsAfter(
      answer([step("lost", "old-1", "n1", null), step("pending", "old-1", null, null)]),
      RUNNING,
      1,
    );
    expect([found?.pods.filter(({ node }) => node === null).length, found?.gone]).toEqual([1, ["n1"]]);
  });

  test("is not drawn where the pods are not those that the answer counts", () => {
    expect(podsAfter(answer(lost), RUNNING, 3)).toBeNull();
  });

  test("ends as its rollout does, from what has waited", () => {
    const found = podsAfter(answer([...STEPS, step("deleted", "old-3", null, false)], ["old-3"]), RUNNING, 2);
    expect(found?.pods.map(({ node, from }) => [node, from])).toEqual([
      ["n1", ""],
      ["n2", ""],
    ]);
    expect(found?.gone).toEqual(["n1", "n2"]);
  });
});

test("a map has the pods alone, those that came outlined, and a place where each was", () => {
  const {
    cluster: own,
    motion,
    left,
    pending,
  } = ownMap(cluster, KEY, {
    pods: [
      { name: "a", node: "n2", old: false, from: null },
      { name: "b", node: "n2", old: false, from: "n1" },
      { name: "c", node: null, old: false, from: null },
    ],
    gone: ["n1"],
  });
  expect([own.podsIn(0), own.podsIn(1), pending]).toEqual([0, 2, 1]);
  expect([...motion.arrived]).toEqual([0, 1]);
  expect(motion.flights).toEqual([
    { workload: 0, from: [0, 0], to: [1, 1] },
    { workload: 1, from: [0, 1], to: null },
  ]);
  expect([left(0), left(1)]).toEqual([2, 0]);
});

test("pods that are missing are ghosts", () => {
  expect(runningPods(RUNNING, 2).pods.filter(({ node }) => node === null)).toHaveLength(2);
});
