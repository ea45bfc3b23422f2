import { describe, expect, test } from "vitest";
import type { ActionBody, ClusterMap, ClusterOutcome } from "../src/api-types";
import { Cluster } from "../src/model/cluster";
import { compareDamage, Moves, touched } from "../src/model/moves";

const ZONE = "topology.kubernetes.io/zone";
/** Two nodes in zone a and one in b; pods of workload 0 on n0, n1 and n2, one of workload 1 on n0. */
const MAP = {
  kubernetesVersion: "1.34",
  source: { kind: "file", name: "c.json", readAt: "2026-11-20T12:00:00Z", notes: [] },
  topologyKeys: [ZONE],
  otherKeys: 0,
  nodes: {
    names: ["n0", "n1", "n2"],
    cordoned: [],
    notReady: [],
    taints: { values: [[]], of: [0, 0, 0] },
    labels: { [ZONE]: { values: ["a", "b"], of: [0, 0, 1] } },
  },
  workloads: { kinds: ["Deployment"], namespaces: ["shop"], kind: [0, 0], namespace: [0, 0], name: ["web", "api"] },
  pods: { node: [0, 0, 1, 2], workload: [0, 1, 0, 0] },
  opened: "",
  autoscale: null,
  reading: 1,
} satisfies ClusterMap;
const cluster = new Cluster(MAP);

function outcome(part: Partial<ClusterOutcome>): ClusterOutcome {
  return { lostNodes: [], addedNodes: [], moved: { workload: [], origin: [], node: [] }, ...part } as ClusterOutcome;
}

function podsOf(moved: Cluster): number[] {
  return moved.names.map((_, node) => moved.podsIn(node));
}

describe("a what-if of the whole cluster", () => {
  const lose: ActionBody[] = [{ lose: { topologyKey: ZONE, value: "a" } }];
  const lost = new Moves(
    cluster,
    lose,
    outcome({ lostNodes: [0, 1], moved: { workload: [0, 1, 0], origin: [0, 0, 1], node: [2, -1, -2] } }),
  );

  test("moves each pod to its node, and no other", () => {
    expect(podsOf(lost.after)).toEqual([0, 0, 2]);
    expect([...lost.after.podWorkload]).toEqual([0, 0]);
    expect([...lost.arrived]).toEqual([0, 1]);
  });

  test("has pods that fit nowhere, and none of those that nothing replaces", () => {
    expect(lost.stuck).toEqual([{ workload: 1, pods: 1 }]);
    expect(lost.flights).toEqual([
      { workload: 0, from: [0, 0], to: [2, 1] },
      { workload: 1, from: [0, 1], to: null },
    ]);
    expect([...lost.after.lost]).toEqual([0, 1]);
  });

  test("leaves the cluster as it was", () => {
    expect(podsOf(cluster)).toEqual([2, 1, 1]);
  });

  test("says at once what is gone, also by a short key", () => {
    expect(touched(cluster, lose)).toEqual({ nodes: 2, pods: 3, workloads: 2 });
    expect(touched(cluster, [{ lose: { topologyKey: "zone", value: "b" } }])).toEqual({
      nodes: 1,
      pods: 1,
      workloads: 1,
    });
  });

  test("adds nodes in the domain of the one that they are like", () => {
    const added = new Moves(
      cluster,
      [{ add: { like: "n2", count: 1 } }, { drain: "n2" }],
      outcome({ addedNodes: ["n2-new-1"], moved: { workload: [0], origin: [2], node: [3] } }),
    );
    expect(podsOf(added.after)).toEqual([2, 1, 0, 1]);
    expect(added.after.domainOf(3, ZONE)).toBe("b");
    expect([...added.after.cordoned]).toEqual([2]);
    expect(added.after.taintsOf(2)).toEqual([]);
  });

  test("shows what is taken back, and a new node without a taint", () => {
    const team: ActionBody = { taint: { node: "n1", key: "team", effect: "NoSchedule" } };
    const freed = new Moves(
      cluster,
      [
        { cordon: "n1" },
        { uncordon: "n1" },
        team,
        { taint: { node: "n1", key: "team", effect: "NoExecute" } },
        { untaint: { node: "n1", key: "team", effect: "NoExecute" } },
        { add: { like: "n1", count: 1, withoutTaints: ["team"] } },
        { cordon: "n2" },
        { taint: { node: "n2", key: "team", effect: "NoExecute" } },
        { untaint: { node: "n2", key: "team" } },
      ],
      outcome({ addedNodes: ["n1-new-1"] }),
    ).after;
    expect([...freed.cordoned]).toEqual([2]);
    expect(freed.taintsOf(1)).toEqual([{ key: "team", value: "", effect: "NoSchedule" }]);
    expect(freed.taintsOf(3)).toEqual([]);
    expect(freed.taintsOf(2)).toEqual([]);
  });

  test("shows a taint in place of one of its key and effect", () => {
    const action = (value: string): ActionBody => ({ taint: { node: "n1", key: "team", value, effect: "NoSchedule" } });
    const tainted = new Moves(cluster, [action("a"), action("b")], outcome({}));
    expect(tainted.after.taintsOf(1)).toEqual([{ key: "team", value: "b", effect: "NoSchedule" }]);
  });
});

test.each([
  [[0, -2, 0], [0, -1, -9], -1],
  [[1, 0, 0], [0, -1, 0], 1],
  [[2, 0, -3], [2, 0, -3], 0],
])("of ranks %j and %j the smaller is the worse", (first, second, sign) => {
  expect(Math.sign(compareDamage(outcome({ rank: first }), outcome({ rank: second })))).toBe(sign);
});
