import { describe, expect, test } from "vitest";
import type { ActionBody, ClusterMap, SuggestedChange } from "../src/api-types";
import { actionOptions, actionSentence, suggestedAction } from "../src/model/actions";
import { Cluster } from "../src/model/cluster";

const ZONE = "topology.kubernetes.io/zone";
const cluster = new Cluster({
  topologyKeys: [ZONE],
  nodes: {
    names: ["n1"],
    cordoned: [0],
    notReady: [],
    taints: { values: [[]], of: [0] },
    labels: { [ZONE]: { values: ["a"], of: [0] } },
  },
  workloads: { kinds: [], namespaces: [], kind: [], namespace: [], name: [] },
  pods: { node: [], workload: [] },
} as unknown as ClusterMap);

describe("an action in words, and as options of evenkeel what-if", () => {
  const cases: [ActionBody, string, string][] = [
    [{ uncordon: "n1" }, "Uncordon n1", "--uncordon n1"],
    [{ untaint: { node: "n1", key: "team" } }, "Remove from n1 the taint team", "--untaint n1 team"],
    [
      { untaint: { node: "n1", key: "team", effect: "NoExecute" } },
      "Remove from n1 the taint team:NoExecute",
      "--untaint n1 team:NoExecute",
    ],
    [
      { add: { like: "n1", withoutTaints: ["team", "gpu"] } },
      "Add 1 node like n1 without the taint team, gpu",
      "--add 1 like n1 --without-taint team --without-taint gpu",
    ],
  ];
  test.each(cases)("%j", (action, sentence, options) => {
    expect([actionSentence(action), actionOptions(action)]).toEqual([sentence, options]);
  });
});

describe("a suggested change of the cluster as an action", () => {
  const made = (kind: string, part: Partial<NonNullable<SuggestedChange["inCluster"]>>): SuggestedChange =>
    ({
      kinds: [kind],
      inCluster: { nodes: ["n1"], count: 1, key: null, value: null, withoutTaints: [], ...part },
    }) as unknown as SuggestedChange;
  const cases: [string, SuggestedChange, ActionBody | null][] = [
    ["a cordon ends", made("cordon", {}), { uncordon: "n1" }],
    ["a node in any domain", made("newNode", {}), { add: { like: "n1", count: 1 } }],
    [
      "2 nodes in the domain of the one that they are like, without its taint",
      made("newNode", { key: ZONE, value: "a", count: 2, withoutTaints: ["team"] }),
      { add: { like: "n1", count: 2, withoutTaints: ["team"] } },
    ],
    ["a node in a domain that is lost", made("newNode", { key: ZONE, value: "b" }), null],
    ["a node in a new domain", made("newNode", { key: ZONE }), null],
    ["a label", made("nodeLabel", { key: ZONE, value: "a" }), null],
    ["an edit of the manifest", { kinds: ["maxSkew"], inCluster: null } as unknown as SuggestedChange, null],
  ];
  test.each(cases)("%s", (_name, change, action) => {
    expect(suggestedAction(change, cluster)).toEqual(action);
  });
});
