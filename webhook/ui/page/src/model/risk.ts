/** The risks of an audit: their order, their words, and the filter of the list. */
import type { AuditedWorkload } from "../api-types";

export type Risk = AuditedWorkload["problems"][number]["risk"];
export type Severity = "error" | "warning" | "note";

/** Every risk, the worst first, in the words of `evenkeel audit`. */
export const RISKS: readonly { risk: Risk; label: string; severity: Severity }[] = [
  { risk: "violated", label: "maxSkew violated", severity: "error" },
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

/** Return the position of a workload's worst risk; those without any come last. */
export function worst(workload: AuditedWorkload): number {
  return workload.problems.reduce(
    (least, problem) => Math.min(least, ORDER.get(problem.risk) ?? RISKS.length),
    RISKS.length,
  );
}

/** Return workloads by risk, the worst first; equal ones by the largest excess, namespace, name and kind. */
export function byRisk<T extends AuditedWorkload>(workloads: readonly T[]): T[] {
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  const keyed = workloads.map((workload) => ({ workload, risk: worst(workload), excess: largestExcess(workload) }));
  keyed.sort(
    (a, b) =>
      a.risk - b.risk ||
      b.excess - a.excess ||
      compare(a.workload.namespace, b.workload.namespace) ||
      compare(a.workload.name, b.workload.name) ||
      compare(a.workload.kind, b.workload.kind),
  );
  return keyed.map(({ workload }) => workload);
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

function largestExcess(workload: AuditedWorkload): number {
  return workload.constraints.reduce(
    (most, found) => Math.max(most, found.skew - found.maxSkew),
    Number.MIN_SAFE_INTEGER,
  );
}
