import { describe, expect, test } from "vitest";
import type { ClusterMap, SimulateAnswer, TracedStep } from "../src/api-types";
import { Cluster } from "../src/model/cluster";
import { ownMap } from "../src/model/ownMap";
import { held, mostHeld, podsAfter, podsAtStep, runningPods } from "../src/model/ownPods";

const RUNNING = [
  { name: "old-1", node: "n1" },
  { name: "old-2", node: "n2" },
];
const TRACE: TracedStep[] = [
  { step: 1, action: "created", pod: "new-1", new: true, skews: [], node: "n1" },
  { step: 2, action: "deleted", pod: "old-1", new: false, skews: [], node: "n1" },
  { step: 3, action: "created", pod: "new-2", new: true, skews: [], node: null },
  { step: 4, action: "deleted", pod: "old-2", new: false, skews: [], node: "n2" },
  { step: 5, action: "scheduled", pod: "new-2", new: true, skews: [], node: "n2" },
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
  return podsAtStep(TRACE, RUNNING, step).pods.map(
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
  expect(podsAtStep(TRACE, RUNNING, step).gone).toEqual(gone);
});

test("a node has room for the most pods of any step", () => {
  expect([...mostHeld(TRACE, RUNNING)]).toEqual([
    ["n1", 2],
    ["n2", 1],
  ]);
});

describe("a what-if", () => {
  const answer = (part: object): SimulateAnswer =>
    ({ rollout: null, whatIf: null, evicted: [], steps: [], ends: { running: 2, pending: 0 }, ...part }) as never;
  const lost = { own: true, name: "old-1", lostNode: "n1" };

  test("moves the pod of a lost node, adds replicas, and keeps what waits as a ghost", () => {
    const found = podsAfter(
      answer({
        whatIf: { displaced: [{ ...lost, node: "n2", outcome: "recovered" }] },
        steps: [{ name: "new-1" }],
      }),
      RUNNING,
    );
    expect(found?.pods.map(({ node, from }) => [node, from])).toEqual([
      ["n2", null],
      ["n2", "n1"],
      [null, null],
    ]);
    expect([...held(found ?? { pods: [], gone: [] })]).toEqual([
      ["n2", 2],
      ["n1", 1],
    ]);
  });

  test("is not drawn where the pods are not those that the answer counts", () => {
    expect(podsAfter(answer({ ends: { running: 3, pending: 0 } }), RUNNING)).toBeNull();
  });

  test("ends as its rollout does", () => {
    const rollout = { likely: { trace: TRACE } };
    expect(podsAfter(answer({ rollout }), RUNNING)?.pods.map(({ node, from }) => [node, from])).toEqual([
      ["n1", ""],
      ["n2", ""],
    ]);
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
