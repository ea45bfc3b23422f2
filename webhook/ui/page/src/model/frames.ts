/** A rollout as frames: the pods of each domain after every step, made from the trace and the nodes' domains. */
import type { RolloutFields, DomainChange, TracedStep } from "../api-types";

/** The pods of the workload after a step. */
export interface Frame {
  /** The number of the step; 0 for the start. */
  step: number;
  /** Pods of the old and of the new revision in each domain. */
  old: Readonly<Record<string, number>>;
  fresh: Readonly<Record<string, number>>;
  /** Pods of the new revision that have no node. */
  pending: number;
  /** How many more pods of the constraint's selector the fullest domain has than the global minimum. */
  skew: number;
}

export interface Frames {
  domains: readonly string[];
  frames: readonly Frame[];
  /** Whether the last frame has the counts that the answer gives; otherwise the steps are not all listed. */
  exact: boolean;
}

type Course = RolloutFields["likely"];
type Counts = Record<string, number>;

/** What is known beside the trace. */
export interface Surroundings {
  /** The domain of a node by a topology key; null where it is unknown or lacks the key. */
  domainOf: (node: string, topologyKey: string) => string | null;
  /** The workload's pods that run now. */
  running: readonly { name: string; node: string | null }[];
}

/** Return the frames of a course for one constraint. */
export function framesOf(course: Course, constraint: DomainChange, at: number, around: Surroundings): Frames {
  const domains = Object.keys(constraint.before).sort(new Intl.Collator("en", { numeric: true }).compare);
  const domainOf = (node: string | null): string | null =>
    node === null ? null : around.domainOf(node, constraint.topologyKey);
  const old = oldPods(course, around, domains, domainOf);
  // matchLabelKeys makes a constraint count the new revision only: then no old pod counts at the start.
  const countsOld = Object.values(constraint.before).some((pods) => pods > 0);
  const fresh = zeros(domains);
  const counted = countsOld ? { ...old } : { ...fresh };
  let pending = 0;
  const frames: Frame[] = [{ step: 0, old: { ...old }, fresh: { ...fresh }, pending, skew: constraint.skewBefore }];
  for (const step of course.trace) {
    const domain = domainOf(step.node);
    const change = step.action === "deleted" || step.action === "evicted" ? -1 : 1;
    if (step.new) pending = Math.max(0, pending + pendingChange(step));
    if (domain !== null && domain in fresh) {
      const side = step.new ? fresh : old;
      side[domain] = (side[domain] ?? 0) + change;
      if (step.new || countsOld) counted[domain] = (counted[domain] ?? 0) + change;
    }
    frames.push({
      step: step.step,
      old: { ...old },
      fresh: { ...fresh },
      pending,
      skew: step.skews[at] ?? 0,
    });
  }
  const after = course.after[at] ?? {};
  const exact =
    course.trace.length === course.steps && domains.every((domain) => (after[domain] ?? 0) === counted[domain]);
  return { domains, frames, exact };
}

function pendingChange(step: TracedStep): number {
  if (step.node === null) return step.action === "deleted" ? -1 : 1;
  return step.action === "scheduled" ? -1 : 0;
}

/** Return the old pods of each domain at the start: those that are deleted later, and those that run on. */
function oldPods(
  course: Course,
  around: Surroundings,
  domains: readonly string[],
  domainOf: (node: string | null) => string | null,
): Counts {
  const counts = zeros(domains);
  const seen = new Set<string>();
  const add = (name: string, node: string | null): void => {
    const domain = domainOf(node);
    if (seen.has(name)) return;
    seen.add(name);
    if (domain !== null && domain in counts) counts[domain] = (counts[domain] ?? 0) + 1;
  };
  for (const step of course.trace)
    if (!step.new && (step.action === "deleted" || step.action === "evicted")) add(step.pod, step.node);
  for (const pod of around.running) add(pod.name, pod.node);
  return counts;
}

function zeros(domains: readonly string[]): Counts {
  return Object.fromEntries(domains.map((domain) => [domain, 0]));
}
