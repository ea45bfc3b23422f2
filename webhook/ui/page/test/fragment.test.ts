import { describe, expect, test } from "vitest";
import { decode, encode, MOST_EDITED, START, workloadState, type PageState } from "../src/model/fragment";

const WEB = { kind: "Deployment", namespace: "shop", name: "web" };

describe("a link restores the state", () => {
  const states: [string, PageState][] = [
    ["the start", START],
    ["a lost zone of the whole cluster", { ...START, actions: [{ lose: { topologyKey: "zone", value: "a" } }] }],
    [
      "two scenarios, of which one has a name, and an open node",
      {
        ...START,
        node: "n1",
        actions: [{ drain: "n1" }],
        kept: { name: "Saturday: a & b", actions: [{ cordon: "n2" }] },
      },
    ],
    ["a map by rack with a highlighted workload", { ...START, rows: "example.com/rack", table: true, highlight: WEB }],
    ["a filtered list", { view: "workloads", filter: "web & <b>#?/", risk: "violated" }],
    ["pending pods", { view: "pending" }],
    ["a workload", workloadState(WEB)],
    [
      "a what-if with every action and an edited copy",
      {
        ...workloadState(WEB, "what-if"),
        replicas: 12,
        actions: [
          { lose: { topologyKey: "topology.kubernetes.io/zone", value: "a" } },
          { lose: { topologyKey: "example.com/rack", value: "r:1", unreachable: true } },
          { drain: "n1" },
          { cordon: "n2" },
          { taint: { node: "n3", key: "team", value: "a=b", effect: "NoExecute" } },
          { uncordon: "n2" },
          { untaint: { node: "n3", key: "team" } },
          { untaint: { node: "n3", key: "team", effect: "NoExecute" } },
          { add: { like: "n1", count: 3 } },
          { add: { like: "n1", count: 1, withoutTaints: ["team", "example.com/a:b"] } },
          { add: { like: "n1", count: 1, withoutTaints: ["team"], labels: [{ key: "rack", value: "r:2=b" }] } },
          { label: { node: "n1", key: "example.com/rack", value: "" } },
        ],
        edited: "kind: Deployment\n# ünïcode & ampersand\n",
        step: 7,
      },
    ],
    [
      "names with separators and directions",
      workloadState({ kind: "Deployment", namespace: "a/b", name: "\u202eevil#?&" }),
    ],
  ];
  test.each(states)("%s", (_name, state) => {
    expect(decode(encode(state))).toEqual({ state, ignored: [] });
  });
});

describe("what a link may not hold is left out and named", () => {
  const cases: [string, string, Partial<PageState>, string[]][] = [
    ["an unknown view", "#/secrets", START, ["the view"]],
    ["a workload without a name", "#/workload/Deployment/shop", { view: "workloads" }, ["the workload's name"]],
    ["a broken escape", "#/workload/Deployment/%E0%A4/web", { view: "workloads" }, ["the workload's name"]],
    ["150,001 replicas", "#/workload/Deployment/shop/web?replicas=150001", { replicas: null }, ["replicas"]],
    ["negative replicas", "#/workload/Deployment/shop/web?replicas=-1", { replicas: null }, ["replicas"]],
    ["an unknown tab", "#/workload/Deployment/shop/web?tab=x", { tab: "spread" }, ["tab"]],
    [
      "an unknown action",
      "#/workload/Deployment/shop/web?do=drain:n1&do=explode:n2",
      { actions: [{ drain: "n1" }] },
      ["1 of the changes of nodes"],
    ],
    [
      "5,001 new nodes",
      "#/workload/Deployment/shop/web?do=add:n1:5001",
      { actions: [] },
      ["1 of the changes of nodes"],
    ],
    ["101 actions", `#/workload/Deployment/shop/web?${"do=drain:n1&".repeat(101)}`, {}, ["1 of the changes of nodes"]],
    [
      "a long manifest",
      `#/workload/Deployment/shop/web?manifest=${"x".repeat(MOST_EDITED + 1)}`,
      { edited: null },
      ["manifest"],
    ],
    ["a parameter of nobody", "#/cluster?x=1", START, ["x"]],
    ["64,001 characters", `#/cluster?rows=${"x".repeat(64_000)}`, START, ["everything: the link is too long"]],
  ];
  test.each(cases)("%s", (_name, fragment, state, ignored) => {
    const read = decode(fragment);
    expect(read.state).toMatchObject(state);
    expect(read.ignored).toEqual(ignored);
  });
});
