import { expect, test } from "vitest";
import type { DisplacedPod, SimulateAnswer } from "../src/api-types";
import { endsOf, evictedOf } from "../src/model/whatif";

function pod(name: string, part: Partial<DisplacedPod>): DisplacedPod {
  return { name, namespace: "shop", lostNode: "n1", own: false, outcome: "recovered", ...part } as DisplacedPod;
}

const LOST = pod("lost", { own: true, node: "n2" });
const FOR_LOST = pod("batch-1", { evictedFor: "shop/lost", outcome: "pending" });
const FOR_NEW = pod("old", { evictedFor: "shop/new", own: true, outcome: "pending", condition: "no room" });

function answer(displaced: DisplacedPod[] | null, evicted?: DisplacedPod[]): SimulateAnswer {
  const whatIf = displaced && { displaced, ownStayed: 2 };
  const steps = [{ name: "new", node: "n3" }];
  return { steps, whatIf, rollout: null, replicas: { wanted: 4, placed: 3 }, evicted } as unknown as SimulateAnswer;
}

test("evicted are pods that go for displaced ones and for replicas, not those that actions displace", () => {
  expect(evictedOf(answer([LOST, FOR_LOST], [FOR_NEW]))).toEqual([FOR_LOST, FOR_NEW]);
  expect(evictedOf(answer(null, [FOR_NEW]))).toEqual([FOR_NEW]);
  expect(evictedOf(answer(null))).toEqual([]);
});

test("a pod of the workload that is evicted for a replica runs no more", () => {
  expect(endsOf(answer([LOST], [FOR_NEW]), null)).toEqual({
    running: 3,
    pending: 1,
    reasons: [{ message: "no room", pods: 1 }],
  });
});

test("without actions a pod of another revision that is evicted was not counted", () => {
  expect(endsOf(answer(null, [FOR_NEW]), null)).toMatchObject({ running: 4, pending: 0 });
});
