import { expect, test } from "vitest";
import type { DisplacedPod, DomainStages, LostVolume, SimulateAnswer, WhatIf } from "../src/api-types";
import { chancesOf, editedRequest, endsOf, evictedOf, lostVolumesOf, uncountedOf } from "../src/model/whatif";

function pod(name: string, part: Partial<DisplacedPod>): DisplacedPod {
  return { name, namespace: "shop", lostNode: "n1", own: false, outcome: "recovered", ...part } as DisplacedPod;
}

const LOST = pod("lost", { own: true, node: "n2" });
const FOR_LOST = pod("batch-1", { evictedFor: "shop/lost", outcome: "pending" });
const FOR_NEW = pod("old", { evictedFor: "shop/new", own: true, outcome: "pending", condition: "no room" });

function answer(displaced: DisplacedPod[] | null, evicted: DisplacedPod[] = []): SimulateAnswer {
  const whatIf = displaced && { displaced, ownStayed: 2 };
  const steps = [{ name: "new", node: "n3" }];
  return { steps, whatIf, rollout: null, replicas: { wanted: 4, placed: 3 }, evicted } as unknown as SimulateAnswer;
}

test("evicted are pods that go for displaced ones and for replicas, not those that actions displace", () => {
  expect(evictedOf(answer([LOST, FOR_LOST], [FOR_NEW]))).toEqual([FOR_LOST, FOR_NEW]);
  expect(evictedOf(answer(null, [FOR_NEW]))).toEqual([FOR_NEW]);
  expect(evictedOf(answer(null))).toEqual([]);
});

test("volumes that no node reaches are those of replicas, displaced pods and the rollout, each once", () => {
  const lost = (name: string): LostVolume => ({
    pod: name,
    claim: "data",
    volume: `pv-${name}`,
    reachedFrom: "zone in (a)",
  });
  const steps = [
    { name: "web-0", lostVolumes: [lost("web-0")] },
    { name: "web-1", node: "n1" },
  ];
  const displaced = [pod("db-0", { lostVolumes: [lost("db-0"), lost("web-0")] }), LOST];
  const rollout = { likely: { lostVolumes: [lost("web-0"), lost("web-2")] } };
  const found = lostVolumesOf({ steps, whatIf: { displaced }, rollout } as unknown as SimulateAnswer);
  expect(found.map((each) => each.pod)).toEqual(["web-0", "web-2", "db-0"]);
  expect(lostVolumesOf(answer(null))).toEqual([]);
});

test("the numbers at the end are the answer's, with a reason for each pod that pends", () => {
  const ends = { running: 3, pending: 1 };
  const found = { ...answer([LOST], [FOR_NEW]), ends };
  expect(endsOf(found)).toEqual({ ...ends, reasons: [{ message: "no room", pods: 1 }] });
});

test("an edited copy replaces what runs: rolled out alone, or before nodes change", () => {
  const state = { replicas: 7, actions: [], newNodes: false };
  const actions = [{ drain: "n1" }];
  const autoscale = "deduced";
  const scaler = { name: "groups.yaml", documents: autoscale } as const;
  const scaled = { ...state, newNodes: true };
  expect(editedRequest("m", state, true, scaler)).toEqual({ rollout: { manifest: "m", replicas: 7 } });
  expect(editedRequest("m", { ...state, actions }, true, scaler)).toEqual({
    simulate: { manifest: "m", applied: true, replicas: 7, actions },
  });
  expect(editedRequest("m", scaled, true, scaler)).toEqual({
    simulate: { manifest: "m", applied: true, replicas: 7, autoscale },
  });
  expect(editedRequest("m", state, false, scaler)).toEqual({ simulate: { manifest: "m", replicas: 7 } });
  expect(editedRequest("m", scaled, false, null)).toEqual({ simulate: { manifest: "m", replicas: 7 } });
});

test("pods with several best nodes are counted, scheduled or displaced: 2 of 3", () => {
  const steps = [
    { name: "a", node: "n1", tied: ["n1", "n2"] },
    { name: "b", node: "n2", tied: ["n2"] },
  ];
  const displaced = [pod("c", { node: "n3", tied: ["n3", "n4"] })];
  expect(chancesOf({ steps, whatIf: { displaced } } as unknown as SimulateAnswer)).toEqual({ pods: 3, tied: 2 });
});

test("a cordoned node's pods run on without counting: 5 before, 4 right after, none displaced", () => {
  const stages = {
    nodeTaintsPolicy: "Honor",
    before: { a: 3, b: 2 },
    disrupted: { a: 2, b: 2 },
  } as unknown as DomainStages;
  const whatIf = { displaced: [] as DisplacedPod[] } as WhatIf;
  expect(uncountedOf(whatIf, stages)).toBe(1);
  expect(uncountedOf({ ...whatIf, displaced: [LOST] }, stages)).toBe(0);
  expect(uncountedOf(whatIf, { ...stages, nodeTaintsPolicy: "Ignore" })).toBe(0);
});
