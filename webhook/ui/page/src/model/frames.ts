/** What happens as frames: the pods of each domain after every step, made from the steps and the nodes' domains. */
import type { ConstraintOutcome, Step } from "../api-types";
import { advance, nameOf, podsAtStart, type OwnPod } from "./ownPods";

/** The pods of the workload after a step. */
export interface Frame {
  /** The number of the step; 0 for the start. */
  step: number;
  /** Pods of the old and of the new revision in each domain; without a rollout all are new. */
  old: Readonly<Record<string, number>>;
  fresh: Readonly<Record<string, number>>;
  /** Pods that have no node. */
  pending: number;
  /** How many more pods of the constraint's selector the fullest domain has than the global minimum. */
  skew: number;
}

export interface Frames {
  domains: readonly string[];
  frames: readonly Frame[];
  /** Whether the last frame has the counts and the worst one the skew that the answer gives. */
  exact: boolean;
}

/** What is known beside the steps. */
export interface Surroundings {
  /** The domain of a node by a topology key; null where it is unknown or lacks the key. */
  domainOf: (node: string, topologyKey: string) => string | null;
  /** The workload's pods that run now. */
  running: readonly { name: string; node: string }[];
  /** The names of its pods without a node. */
  waiting: readonly string[];
}

/** Return the frames of a workload's steps for one constraint. */
export function framesOf(steps: readonly Step[], constraint: ConstraintOutcome, around: Surroundings): Frames {
  const { before, after, topologyKey } = constraint;
  const domains = Object.keys(after ?? before ?? {}).sort(new Intl.Collator("en", { numeric: true }).compare);
  // matchLabelKeys makes a constraint count the new revision only: then no old pod counts at the start.
  const countsOld = before === null || Object.values(before).some((pods) => pods > 0);
  const pods = podsAtStart(steps, around.running, around.waiting);
  const [old, fresh] = [zeros(domains), zeros(domains)];
  let pending = 0;
  const count = (pod: OwnPod | undefined, by: number): void => {
    if (!pod) return;
    if (pod.node === null) pending += by;
    const domain = pod.node === null ? null : around.domainOf(pod.node, topologyKey);
    const side = pod.old ? old : fresh;
    if (domain !== null && domain in side) side[domain] = (side[domain] ?? 0) + by;
  };
  const counted = (name: string): number => (countsOld ? (old[name] ?? 0) : 0) + (fresh[name] ?? 0);
  const frame = (step: number): Frame => {
    const skew = skewOf(domains.map(counted), constraint);
    return { step, old: { ...old }, fresh: { ...fresh }, pending, skew };
  };
  for (const pod of pods.values()) count(pod, 1);
  const frames = [frame(0)];
  for (const step of steps) {
    const name = nameOf(step.pod);
    count(pods.get(name), -1);
    advance(pods, step);
    count(pods.get(name), 1);
    frames.push(frame(frames.length));
  }
  const ends = domains.every((name) => (after?.[name] ?? 0) === counted(name));
  return { domains, frames, exact: ends && frames.at(-1)?.skew === constraint.skew };
}

function zeros(domains: readonly string[]): Record<string, number> {
  return Object.fromEntries(domains.map((domain) => [domain, 0]));
}

/** Return the skew of counts, which the answer has of the start, the end and the worst moment. */
function skewOf(counts: readonly number[], { minDomains }: ConstraintOutcome): number {
  const least = counts.length < minDomains || counts.length === 0 ? 0 : Math.min(...counts);
  return counts.reduce((a, b) => Math.max(a, b), 0) - least;
}
