/** Two what-ifs of the whole cluster side by side: how their numbers and their workloads differ. */
import type { Outcome, WorkloadOutcome, WorkloadRef } from "../api-types";
import { actionSentence } from "./actions";
import type { Scenario } from "./fragment";
import { compareVerdicts } from "./outcome";
import { count } from "./words";

/** What scenarios are called that have no name of a person's, and no action either. */
const UNNAMED = "unnamed";

/** Return what a scenario is called: its name, or else what happens in it. */
export function scenarioName({ name, actions }: Scenario): string {
  return name || actions.map(actionSentence).join(", ") || UNNAMED;
}

/** A workload in two scenarios; null in the one where it loses no pod. */
export interface ComparedWorkload {
  key: WorkloadRef;
  first: WorkloadOutcome | null;
  second: WorkloadOutcome | null;
}

/** Return the workloads of either, by the better of the places that they have there. */
export function comparedWorkloads(first: Outcome, second: Outcome): ComparedWorkload[] {
  const found = new Map<string, ComparedWorkload & { place: number }>();
  const add = (outcome: Outcome, side: "first" | "second"): void => {
    outcome.workloads.forEach((one, place) => {
      const name = `${one.kind} ${one.namespace}/${one.name}`;
      const known = found.get(name) ?? { key: one, first: null, second: null, place };
      found.set(name, { ...known, [side]: one, place: Math.min(known.place, place) });
    });
  };
  add(first, "first");
  add(second, "second");
  return [...found.values()].sort((a, b) => a.place - b.place);
}

/** Return how the second scenario differs from the first, in one sentence. */
export function differenceWords(names: readonly [string, string], first: Outcome, second: Outcome): string {
  const pending = ({ workloads }: Outcome): number => workloads.reduce((sum, found) => sum + found.pending, 0);
  const failing = ({ workloads }: Outcome): number =>
    workloads.filter(({ verdicts }) => verdicts[0]?.value === false).length;
  const parts = [
    part(pending(first), pending(second), "pod", "fits nowhere", "fit nowhere"),
    part(failing(first), failing(second), "workload", "is not well", "are not well"),
  ].filter((words) => words !== "");
  const worse = compareVerdicts(first.verdict, second.verdict) || pending(second) - pending(first);
  if (worse === 0 && parts.length === 0) return "Both do the same damage.";
  const better = worse === 0 ? "Neither is worse" : `${worse < 0 ? names[0] : names[1]} is worse`;
  return `${better}${parts.length ? `: in ${names[1]} ${parts.join(", and ")}` : ""}.`;
}

function part(first: number, second: number, noun: string, verb: string, verbs: string): string {
  const more = second - first;
  if (more === 0) return "";
  const pods = Math.abs(more);
  return `${count(pods, noun).replace(" ", ` ${more > 0 ? "more" : "fewer"} `)} ${pods === 1 ? verb : verbs}`;
}
