/** The pods of one workload node by node: as they run, after a what-if, and after each step of a rollout. */
import type { SimulateAnswer, TracedStep, WorkloadPod } from "../api-types";
import { isBound } from "./whatif";

/** A pod of the workload. */
export interface OwnPod {
  name: string;
  /** Its node; null while it is pending. */
  node: string | null;
  /** Whether it is of the old revision of a rollout. */
  old: boolean;
  /** The node that it has just come from; empty for one that is new; null for one that was there. */
  from: string | null;
}

/** Where the pods of a workload are. */
export interface OwnPods {
  pods: readonly OwnPod[];
  /** The nodes that pods have just gone from without another node, once for each pod. */
  gone: readonly string[];
}

type Running = readonly Pick<WorkloadPod, "name" | "node">[];

/** Return the pods that run, and as many without a node as are missing. */
export function runningPods(running: Running, missing: number): OwnPods {
  const pods = running.map(({ name, node }): OwnPod => ({ name, node, old: false, from: null }));
  const waiting = Array.from({ length: Math.max(0, missing) }, (): OwnPod => ({
    name: "",
    node: null,
    old: false,
    from: null,
  }));
  return { pods: [...pods, ...waiting], gone: [] };
}

/** Return the pods after a step of a course; 0 is the start. */
export function podsAtStep(trace: readonly TracedStep[], running: Running, step: number): OwnPods {
  const pods = new Map<string, OwnPod>();
  for (const found of trace)
    if (!found.new && (found.action === "deleted" || found.action === "evicted"))
      pods.set(found.pod, { name: found.pod, node: found.node, old: true, from: null });
  for (const { name, node } of running) pods.set(name, { name, node, old: true, from: null });
  const gone: string[] = [];
  trace.slice(0, step).forEach((found, at) => {
    const last = at + 1 === step;
    if (found.action === "deleted" || found.action === "evicted") {
      pods.delete(found.pod);
      if (last && found.node !== null) gone.push(found.node);
    } else
      pods.set(found.pod, {
        name: found.pod,
        node: found.node,
        old: !found.new,
        from: last && found.node !== null ? "" : null,
      });
  });
  return { pods: [...pods.values()], gone };
}

/** Pods by the name of their node. */
export type Held = ReadonlyMap<string, number>;

/** Return how many squares each node has: pods, and places that pods have just left. */
export function held({ pods, gone }: OwnPods): Held {
  const found = new Map<string, number>();
  const add = (node: string): void => {
    found.set(node, (found.get(node) ?? 0) + 1);
  };
  for (const { node, from } of pods) {
    if (node !== null) add(node);
    if (from !== null && from !== "") add(from);
  }
  gone.forEach(add);
  return found;
}

/** Return the most squares that each node has before or after any step of a course. */
export function mostHeld(trace: readonly TracedStep[], running: Running): Held {
  const now = new Map(held(podsAtStep(trace, running, 0)));
  const most = new Map(now);
  const places = new Map(podsAtStep(trace, running, 0).pods.map(({ name, node }) => [name, node]));
  for (const { pod, node, action } of trace) {
    const before = places.get(pod);
    if (before) now.set(before, (now.get(before) ?? 0) - 1);
    const after = action === "deleted" || action === "evicted" ? null : node;
    places.set(pod, after);
    if (after === null) continue;
    now.set(after, (now.get(after) ?? 0) + 1);
    most.set(after, Math.max(most.get(after) ?? 0, now.get(after) ?? 0));
  }
  return most;
}

/** Return the pods after a what-if; null where they are not those that the answer counts: not each is listed. */
export function podsAfter(answer: SimulateAnswer, running: Running): OwnPods | null {
  const found = answer.rollout ? podsAfterSteps(answer.rollout.likely, running) : podsAfterLoss(answer, running);
  const placed = found.pods.filter(({ node }) => node !== null).length;
  return placed === (answer.ends?.running ?? placed) ? found : null;
}

function podsAfterSteps({ trace }: { trace: readonly TracedStep[] }, running: Running): OwnPods {
  const { pods } = podsAtStep(trace, running, trace.length);
  const before = new Set(running.map(({ node }) => node));
  // Of a rollout as a whole every pod is new, and what is old has stayed.
  const came = pods.map((pod): OwnPod => ({ ...pod, old: false, from: pod.old || pod.node === null ? null : "" }));
  const now = new Set(came.map(({ node }) => node));
  return { pods: came, gone: [...before].filter((node) => !now.has(node)) };
}

function podsAfterLoss(answer: SimulateAnswer, running: Running): OwnPods {
  const moved = [...(answer.whatIf?.displaced ?? []), ...answer.evicted].filter(({ own }) => own);
  const left = new Set(moved.map(({ name }) => name));
  const stayed = running
    .filter(({ name }) => !left.has(name))
    .map(({ name, node }): OwnPod => ({ name, node, old: false, from: null }));
  const others = moved
    .filter(({ outcome }) => outcome !== "notRecreated")
    .map(({ name, node, lostNode }): OwnPod => ({ name, node: node ?? null, old: false, from: lostNode }));
  const added = answer.steps.map((step): OwnPod => {
    const node = isBound(step) ? step.node : null;
    return { name: step.name, node, old: false, from: node === null ? null : "" };
  });
  return {
    pods: [...stayed, ...others, ...added],
    gone: others.flatMap(({ node, from }) => (node === null && from !== null ? [from] : [])),
  };
}
