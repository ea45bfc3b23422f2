/** The form of a plan, as policies/reports/plan.schema.json describes it. */
import type { SimulatedDomains } from "../api-types";

/** What a constraint in force asks for. */
type AppliedFields = Omit<SimulatedDomains, "pod" | "constraint" | "before" | "after" | "skew">;

export interface PlannedDomains extends AppliedFields {
  new: boolean;
  gone: boolean;
  now: Record<string, number>;
  after: Record<string, number>;
  skew: number;
}

export interface PlannedRollout {
  kind: "rollout" | "scale";
  strategy: string;
  likely: Outcome;
  worst: Outcome;
  assumptions: string[];
  steps: number;
  trace: { action: "created" | "scheduled" | "deleted"; pod: string; new: boolean; node: string | null }[];
}

export type Outcome = "complete" | "pending" | "deadlock";

export interface PlannedWorkload {
  action: "remove" | "replace" | "change" | "add";
  kind: string;
  namespace: string;
  name: string;
  builds: string[];
  alternative: boolean;
  differences: string[];
  policy: string | null;
  pods: {
    now: number;
    wanted: number;
    deleted: number;
    scheduled: number;
    pending: number;
    notTried: number;
    nextOnly: boolean;
    recreated: boolean;
  };
  rollout: PlannedRollout | null;
  domains: PlannedDomains[];
  pending: { name: string; message: string }[];
  errors: { field: string; message: string }[];
  notModeled: string[];
}

export interface PlanFinding {
  severity: "error" | "warning" | "note";
  rule: string;
  file: string;
  line: number | null;
  field: string;
  message: string;
  object: string;
}

export interface PlanReport {
  kubernetesVersion: string;
  comparedWith: string;
  summary: {
    remove: number;
    replace: number;
    change: number;
    add: number;
    unchanged: number;
    pending: number;
    deadlocks: number;
    newFindings: number;
    goneFindings: number;
    raisedFindings: number;
    unplanned: number;
    incomplete: boolean;
    failed: boolean;
  };
  workloads: PlannedWorkload[];
  newFindings: PlanFinding[];
  goneFindings: PlanFinding[];
  raisedFindings: PlanFinding[];
  skippedSources: {
    kind: string;
    file: string;
    line: number | null;
    object: string;
    reason: string;
    message: string;
  }[];
  notPlanned: { workload: string; reason: "placeholders" | "repeated" | "stopped"; changed: boolean }[];
  placedFirst: boolean;
  notLookedAt: string[];
}
