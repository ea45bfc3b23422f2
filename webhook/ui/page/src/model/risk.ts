/** The risks of an audit: their order, their words, and the filter of the list. */
import type { AuditedEntry, AuditedWorkload } from "../api-types";

export type Risk = AuditedWorkload["problems"][number]["risk"];
export type Severity = "error" | "warning" | "note";

/** Every risk, the worst first, in the words of `evenkeel audit`. */
export const RISKS: readonly { risk: Risk; label: string; severity: Severity }[] = [
  { risk: "violated", label: "maxSkew violated", severity: "error" },
  { risk: "would-violate", label: "maxSkew violated for new pods", severity: "warning" },
  { risk: "pending", label: "Pods pending", severity: "error" },
  { risk: "one-domain", label: "All in one domain", severity: "warning" },
  { risk: "no-room", label: "No room", severity: "warning" },
  { risk: "never-binds", label: "Constraint never binds", severity: "warning" },
  { risk: "uneven", label: "Uneven", severity: "note" },
  { risk: "invalid", label: "Invalid", severity: "warning" },
];

const ORDER = new Map(RISKS.map(({ risk }, position) => [risk, position]));

/** Return what a risk is called. */
export function riskLabel(risk: Risk): string {
  return RISKS[ORDER.get(risk) ?? -1]?.label ?? risk;
}

/** Return workloads by risk, the worst first, in the order in which `evenkeel audit` lists them. */
export function byRisk(workloads: readonly AuditedEntry[]): AuditedEntry[] {
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...workloads].sort(
    (a, b) =>
      a.rank - b.rank || compare(a.namespace, b.namespace) || compare(a.kind, b.kind) || compare(a.name, b.name),
  );
}

/** What the list of workloads shows. */
export interface Filter {
  text: string;
  risk: Risk | null;
}

/** Return the workloads that a filter leaves, in their order. */
export function filtered<T extends AuditedWorkload>(workloads: readonly T[], filter: Filter): T[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return workloads.filter((workload) => {
    if (filter.risk !== null && !workload.problems.some((problem) => problem.risk === filter.risk)) return false;
    if (words.length === 0) return true;
    const text = `${workload.kind} ${workload.namespace}/${workload.name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
