/** The risks of an audit: their order, their words, and the filter of the list. */
import { RISK_ORDER, type AuditedEntry } from "../api-types";

export type Risk = AuditedEntry["problems"][number]["risk"];
export type Severity = "error" | "warning" | "note";

const LABELS: Record<Risk, string> = {
  violated: "maxSkew violated",
  "would-violate": "maxSkew violated for new pods",
  pending: "Pending for their spread",
  "one-domain": "All in one domain",
  "no-room": "No room",
  "not-injected": "Default constraints missing",
  "never-binds": "Constraint never binds",
  uneven: "Uneven",
  invalid: "Invalid",
};

/** What the list may be filtered by: a risk, or pods without a node for whatever reason, or replicas without a pod. */
export type Choice = Risk | "without-node" | "missing";

/** Every choice, the worst risk first. */
export const CHOICES: readonly { choice: Choice; label: string; severity: Severity }[] = [
  ...RISK_ORDER.map(({ risk, severity }) => ({ choice: risk, label: LABELS[risk], severity })),
  { choice: "without-node", label: "Any pod pending", severity: "error" },
  { choice: "missing", label: "Replicas missing", severity: "warning" },
];

/** Return how many replicas are wanted of which there is no pod, not even a pending one. */
export function missingOf({ running, replicas, pending }: AuditedEntry): number {
  return running === null || replicas === null ? 0 : Math.max(0, replicas - running - pending);
}

/** Return whether a workload is of those that a choice leaves. */
export function isChosen(workload: AuditedEntry, choice: Choice): boolean {
  if (choice === "without-node") return workload.pending > 0;
  if (choice === "missing") return missingOf(workload) > 0;
  return workload.problems.some((problem) => problem.risk === choice);
}

/** A workload of which nothing is wrong with the spread, in a word. */
export function calmWord(workload: AuditedEntry): { word: string; tone: "good" | "warning" | "note" } {
  if (workload.pending > 0) return { word: "Pods pending, not for their spread", tone: "warning" };
  if (missingOf(workload) > 0) return { word: "Replicas missing", tone: "warning" };
  // Without a constraint, or a domain, nothing is measured, so that nothing is even either.
  if (workload.constraints.length === 0) return { word: "No constraint", tone: "note" };
  if (workload.constraints.some((constraint) => constraint.domains === 0)) return { word: "No domain", tone: "note" };
  if (workload.running === 0) return { word: "No pod", tone: "note" };
  return { word: "Even", tone: "good" };
}

/** Return what a risk is called. */
export function riskLabel(risk: Risk): string {
  return LABELS[risk];
}

/** Return workloads by risk, the worst first, in the order in which `evenkeel audit` lists them. */
export function byRisk(workloads: readonly AuditedEntry[]): AuditedEntry[] {
  return [...workloads].sort((a, b) => a.rank - b.rank || a.workload - b.workload);
}

/** What the list of workloads shows. */
export interface Filter {
  text: string;
  risk: Choice | null;
}

/** Return the workloads that a filter leaves, in their order. */
export function filtered<T extends AuditedEntry>(workloads: readonly T[], filter: Filter): T[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return workloads.filter((workload) => {
    if (filter.risk !== null && !isChosen(workload, filter.risk)) return false;
    if (words.length === 0) return true;
    const text = `${workload.kind} ${workload.namespace}/${workload.name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
