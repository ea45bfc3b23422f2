import { expect, test } from "vitest";
import type { ClusterMap } from "../src/api-types";
import { changesBetween } from "../src/model/changed";
import { Cluster } from "../src/model/cluster";

function cluster(names: string[], node: number[], workload: number[], part: object = {}): Cluster {
  return new Cluster({
    topologyKeys: [],
    nodes: { names, cordoned: [], notReady: [], taints: { values: [[]], of: names.map(() => 0) }, labels: {}, ...part },
    workloads: { kinds: ["Deployment"], namespaces: ["shop"], kind: [0, 0], namespace: [0, 0], name: ["web", "api"] },
    pods: { node, workload },
  } as unknown as ClusterMap);
}

test("nodes and pods that came, went or changed, by name: positions are others", () => {
  const before = cluster(["n1", "n2"], [0, 0, 1], [0, 1, 0], { cordoned: [1] });
  const after = cluster(["n0", "n1"], [0, 1, 1, -1], [0, 0, 0, 1], { cordoned: [1] });
  const found = changesBetween(before, after);

  expect(found.sentences).toEqual([
    "node n0 is new",
    "node n2 is gone",
    "node n1 was cordoned",
    "2 pods came to a node",
    "2 pods left one",
  ]);
  expect([...found.arrived].filter((each) => each)).toHaveLength(2);
  expect(found.workloads.map(({ name, running, pending }) => [name, running, pending])).toEqual([
    ["api", [1, 0], [0, 1]],
    ["web", [2, 3], [0, 0]],
  ]);
});

test("nothing changed", () => {
  const same = (): Cluster => cluster(["n1"], [0, 0], [0, -1], { notReady: [0] });
  const found = changesBetween(same(), same());
  expect([found.sentences, found.workloads, [...found.arrived]]).toEqual([[], [], [0, 0]]);
});

test("four nodes are counted, and three of them named", () => {
  const names = ["a", "b", "c", "d"];
  const found = changesBetween(cluster(names, [], [], { notReady: [0, 1, 2, 3] }), cluster(names, [], []));
  expect(found.sentences).toEqual(["4 nodes are ready again, such as a, b, c"]);
});
