import { expect, test } from "vitest";
import type { ClusterMap } from "../src/api-types";
import { Cluster } from "../src/model/cluster";
import { Names } from "../src/model/search";

const names = Array.from({ length: 12 }, (_, at) => `web-${at}`);
const cluster = new Cluster({
  nodes: {
    names: ["node-10", "node-1", "other"],
    cordoned: [],
    notReady: [],
    taints: { values: [[]], of: [0, 0, 0] },
    labels: {},
  },
  workloads: {
    kinds: ["Deployment"],
    namespaces: ["shop"],
    kind: names.map(() => 0),
    namespace: names.map(() => 0),
    name: names,
  },
  pods: { node: [], workload: [] },
} as unknown as ClusterMap);
const search = new Names(cluster);

test.each([
  ["node-1", ["node-1", "node-10"]],
  ["NODE 0", ["node-10"]],
  ["nothing", []],
  ["  ", []],
])("nodes of %j, that very name first", (text, found) => {
  expect(search.nodesOf(text)).toEqual(found);
});

test("of many workloads the first are found, and that very name whatever its place", () => {
  const found = search.workloadsOf("web-11").concat(search.workloadsOf("shop web-1"));
  expect(found.map(({ name }) => name)).toEqual(["web-11", "web-1", "web-10", "web-11"]);
  expect(search.workloadsOf("deploy").length).toBe(6);
});
