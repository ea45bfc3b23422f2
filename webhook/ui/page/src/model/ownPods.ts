/** The pods of one workload node by node: as they run, after a what-if, and after each step of a rollout. */
import type { PlayedWhatIf, Step, WorkloadPod } from "../api-types";

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

/** Return the steps of an answer that are of the workload's own pods. */
export function ownSteps({ outcome, own }: PlayedWhatIf): Step[] {
  return (own?.steps ?? []).flatMap((at) => outcome.steps[at] ?? []);
}

/** Return the workload's pods before anything happens, by name; those of a rollout are old ones. */
export function podsAtStart(steps: readonly Step[], running: Running, waiting: readonly string[]): Map<string, OwnPod> {
  const old = steps.some((step) => step.new !== null);
  const all = [...running, ...waiting.map((name) => ({ name, node: null }))];
  return new Map(all.map(({ name, node }) => [name, { name, node, old, from: null }]));
}

/** Let a step happen to the pods. */
export function advance(pods: Map<string, OwnPod>, { did, pod, node, new: fresh }: Step): void {
  const name = nameOf(pod);
  const old = fresh === null ? (pods.get(name)?.old ?? false) : !fresh;
  if (did === "deleted" || did === "notRecreated") pods.delete(name);
  // What loses its node is replaced, and where that goes is a step of its own.
  else if (did !== "notEvicted") pods.set(name, { name, node: did === "bound" ? node : null, old, from: null });
}

/** Return the pods after so many steps; 0 is the start. */
export function podsAtStep(steps: readonly Step[], running: Running, waiting: readonly string[], at: number): OwnPods {
  const pods = podsAtStart(steps, running, waiting);
  for (const step of steps.slice(0, Math.max(0, at - 1))) advance(pods, step);
  const last = steps[at - 1];
  if (!last) return { pods: [...pods.values()], gone: [] };
  const left = pods.get(nameOf(last.pod))?.node ?? null;
  advance(pods, last);
  const moved = pods.get(nameOf(last.pod));
  if (moved && last.did === "bound") pods.set(moved.name, { ...moved, from: "" });
  return { pods: [...pods.values()], gone: left !== null && (moved?.node ?? null) === null ? [left] : [] };
}

/** Return the name of a pod without its namespace. */
export function nameOf(pod: string | null): string {
  return pod?.slice(pod.indexOf("/") + 1) ?? "";
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

/** Return the most squares that each node has before or after any step. */
export function mostHeld(steps: readonly Step[], running: Running, waiting: readonly string[]): Held {
  const pods = podsAtStart(steps, running, waiting);
  const now = new Map(held({ pods: [...pods.values()], gone: [] }));
  const most = new Map(now);
  for (const step of steps) {
    const [name, add] = [nameOf(step.pod), (node: string, by: number) => now.set(node, (now.get(node) ?? 0) + by)];
    const before = pods.get(name)?.node ?? null;
    advance(pods, step);
    const after = pods.get(name)?.node ?? null;
    if (before !== null) add(before, -1);
    if (after === null) continue;
    add(after, 1);
    most.set(after, Math.max(most.get(after) ?? 0, now.get(after) ?? 0));
  }
  return most;
}

/** Return the pods at the end, each with where it came from; null where they are not those that are counted. */
export function podsAfter(answer: PlayedWhatIf, running: Running, counted: number): OwnPods | null {
  const steps = ownSteps(answer);
  const { pods } = podsAtStep(steps, running, answer.own?.waiting ?? [], steps.length);
  if (pods.filter(({ node }) => node !== null).length !== counted) return null;
  const before = new Map(running.map(({ name, node }) => [name, node]));
  const replaced = steps.some((step) => step.new !== null);
  const came = pods.map((pod): OwnPod => {
    const was = before.get(pod.name);
    const from = pod.node === null || was === pod.node ? null : (was ?? "");
    return { ...pod, old: replaced && pod.old, from };
  });
  const now = new Set(came.map(({ name }) => name));
  const gone = running.flatMap(({ name, node }) => (now.has(name) ? [] : [node]));
  const lost = came.flatMap(({ name, node }) => (node === null ? (before.get(name) ?? []) : []));
  return { pods: came, gone: [...gone, ...lost] };
}
