import { describe, expect, test } from "vitest";
import type { ClusterMap, SuggestedChange } from "../src/api-types";
import type { NodeEvent } from "../src/model/actions";
import { actionOptions, actionSentence, suggestedActions } from "../src/model/actions";
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
  const cases: [NodeEvent, string, string][] = [
    [{ uncordon: "n1" }, "Uncordon n1", "--uncordon n1"],
    [{ untaint: { node: "n1", key: "team" } }, "Remove from n1 the taint team", "--taint 'n1 team-'"],
    [
      { untaint: { node: "n1", key: "team", effect: "NoExecute" } },
      "Remove from n1 the taint team:NoExecute",
      "--taint 'n1 team:NoExecute-'",
    ],
    [
      { add: { like: "n1", withoutTaints: ["team", "gpu"] } },
      "Add 1 node like n1 without the taint team, gpu",
      "--add '1 like n1 without team without gpu'",
    ],
    [
      { add: { like: "n1", count: 1, labels: [{ key: "zone", value: "d" }] } },
      "Add 1 node like n1 with zone=d",
      "--add '1 like n1 with zone=d'",
    ],
    [{ label: { node: "n1", key: "zone", value: "a" } }, "Label n1 with zone=a", "--label 'n1 zone=a'"],
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
  const cases: [string, SuggestedChange, NodeEvent[] | string][] = [
    ["a cordon ends", made("cordon", {}), [{ uncordon: "n1" }]],
    ["a node in any domain", made("newNode", {}), [{ add: { like: "n1", count: 1 } }]],
    [
      "2 nodes in the domain of the one that they are like, without its taint",
      made("newNode", { key: ZONE, value: "a", count: 2, withoutTaints: ["team"] }),
      [{ add: { like: "n1", count: 2, withoutTaints: ["team"] } }],
    ],
    [
      "a node in a domain that is lost",
      made("newNode", { key: ZONE, value: "b" }),
      [{ add: { like: "n1", count: 1, labels: [{ key: ZONE, value: "b" }] } }],
    ],
    [
      "2 nodes, each in a new domain",
      made("newNode", { key: ZONE, count: 2 }),
      ["new-1", "new-2"].map((value) => ({ add: { like: "n1", count: 1, labels: [{ key: ZONE, value }] } })),
    ],
    ["a label", made("nodeLabel", { key: ZONE, value: "a" }), [{ label: { node: "n1", key: ZONE, value: "a" } }]],
    ["an edit of the manifest", { kinds: ["maxSkew"], edits: [{}], inCluster: null } as unknown as SuggestedChange, []],
    [
      "no time can be tried",
      made("termination", {}),
      "It is only a matter of time: pods that are being deleted hold the room.",
    ],
  ];
  test.each(cases)("%s", (_name, change, action) => {
    expect(suggestedActions(change, cluster)).toEqual(action);
  });
});
