import { describe, expect, test } from "vitest";
import type { ClusterMap, MovedPods, NodesOutcome, PlayedWhatIf } from "../src/api-types";
import type { NodeEvent } from "../src/model/actions";
import { Cluster } from "../src/model/cluster";
import { Moves, touched } from "../src/model/moves";

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

function played(nodes: Partial<NodesOutcome>, moved?: MovedPods): PlayedWhatIf {
  const all = { lost: [], created: [], added: [], changed: [], ...nodes };
  return { outcome: { nodes: all }, moved: moved ? [moved] : [], own: null } as unknown as PlayedWhatIf;
}

function podsOf(moved: Cluster): number[] {
  return moved.names.map((_, node) => moved.podsIn(node));
}

describe("a what-if of the whole cluster", () => {
  const lose: NodeEvent[] = [{ lose: { topologyKey: ZONE, value: "a" } }];
  const lost = new Moves(
    cluster,
    played({ lost: ["n0", "n1"] }, { workload: [0, 1, 0], origin: [0, 0, 1], node: [2, -1, -2] }),
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

  test("adds nodes with their labels, and changes others as the server says", () => {
    const team = { key: "team", value: "a", effect: "NoSchedule" } as const;
    const after = new Moves(
      cluster,
      played(
        {
          created: ["n2-new-1"],
          added: [{ name: "n2-new-2", group: "spot", zone: "c", price: null, instanceType: "", capacityType: "" }],
          changed: [
            { names: ["n2"], cordoned: true, taints: [], labels: { [ZONE]: "b" } },
            { names: ["n1"], cordoned: false, taints: [team], labels: { [ZONE]: "a" } },
            { names: ["n2-new-1"], cordoned: false, taints: [], labels: { [ZONE]: "b" } },
          ],
        },
        { workload: [0], origin: [2], node: [3] },
      ),
    ).after;
    expect(podsOf(after)).toEqual([2, 1, 0, 1, 0]);
    expect([2, 3, 4].map((node) => after.domainOf(node, ZONE))).toEqual(["b", "b", "c"]);
    expect([...after.cordoned]).toEqual([2]);
    expect(after.taintsOf(1)).toEqual([team]);
    expect(cluster.map.nodes.labels[ZONE]?.values).toEqual(["a", "b"]);
  });

  test("takes a cordon back", () => {
    const closed = new Cluster({ ...MAP, nodes: { ...MAP.nodes, cordoned: [1, 2] } });
    const changed = [{ names: ["n1"], cordoned: false, taints: [], labels: {} }];
    expect([...new Moves(closed, played({ changed })).after.cordoned]).toEqual([2]);
  });
});
