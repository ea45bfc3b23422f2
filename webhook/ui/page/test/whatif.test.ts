import { expect, test } from "vitest";
import type { WhatIfBody } from "../src/api-types";
import { askOfCluster, askOfWorkload, evictionsCommand, isAsked, lossOf, whatIfCommand } from "../src/model/whatif";

const KEY = { kind: "Deployment", namespace: "shop", name: "web" };
const NOTHING = { ...KEY, edited: null, replicas: null, actions: [], newNodes: false };
const SCALER = { name: "groups.yaml", documents: "deduced" } as const;
type About = Parameters<typeof whatIfCommand>[2];
const FILE: About = { source: { kind: "file", name: "shop.json", readAt: "", notes: [] }, autoscale: SCALER };
const LIVE: About = { source: { ...FILE.source, kind: "live", name: "prod" }, autoscale: null };

test("an edited copy is applied, then it is scaled, then nodes change", () => {
  const asked = { ...NOTHING, edited: "m", replicas: 7, actions: [{ drain: "n1" }], newNodes: true };
  expect(askOfWorkload(asked, SCALER)).toEqual({
    manifest: "m",
    events: [{ scale: { ...KEY, to: 7 } }, { drain: "n1" }],
    workloads: [KEY],
    autoscale: "deduced",
  });
  expect(isAsked(asked)).toBe(true);
});

test("where nothing is asked nothing happens, or it is rolled out again", () => {
  expect(isAsked(NOTHING)).toBe(false);
  expect(askOfWorkload(NOTHING, SCALER)).toEqual({ events: [], workloads: [KEY] });
  expect(askOfWorkload(NOTHING, SCALER, true).events).toEqual([{ restart: KEY }]);
});

test("a pod of its own is no workload that a verdict could be about", () => {
  expect(askOfWorkload({ ...NOTHING, kind: "Pod" }, null)).toEqual({ events: [] });
});

test.each<[WhatIfBody, typeof KEY | null, string]>([
  [{ events: [{ scale: { ...KEY, to: 6 } }, { drain: "n1" }] }, KEY, "deploy: --replicas 6 --drain n1"],
  [{ events: [{ restart: KEY }] }, KEY, "deploy: --restart"],
  [{ manifest: "m", events: [], autoscale: "deduced" }, KEY, "-f edited.yaml --autoscale groups.yaml"],
  [{ events: [], each: "zone", unreachable: true }, null, "--lose-each zone --unreachable"],
  [
    { events: [{ taint: { node: "n1", key: "a", value: "b", effect: "NoExecute" } }] },
    null,
    "--taint 'n1 a=b:NoExecute'",
  ],
])("%j is the command of %j with %s", (body, key, words) => {
  const options = words.replace("deploy:", "deployment/web -n shop");
  expect(whatIfCommand(body, key, FILE)).toBe(`evenkeel what-if ${options} --cluster shop.json`);
});

test("nothing has no command, and a live cluster is asked for", () => {
  expect(whatIfCommand({ events: [] }, KEY, FILE)).toBe("");
  expect(whatIfCommand(askOfCluster([{ drain: "n1" }], null), null, LIVE)).toBe("evenkeel what-if --drain n1 --live");
  expect(evictionsCommand(KEY, LIVE.source)).toBe("evenkeel audit deployment/web -n shop --evictions");
});

test("a loss is asked for as a person does", () => {
  const lost = { topologyKey: "zone", value: "a" };
  expect(lossOf({ ...lost, unreachable: null })).toEqual(lost);
  expect(lossOf({ ...lost, unreachable: true })).toEqual({ ...lost, unreachable: true });
});
