/** Two what-ifs of the whole cluster side by side: how their numbers and their workloads differ. */
import type { ClusterOutcome } from "../api-types";
import { actionSentence } from "./actions";
import type { Scenario } from "./fragment";
import { compareDamage } from "./moves";
import { count } from "./words";

/** What scenarios are called that have no name of a person's, and no action either. */
const UNNAMED = "unnamed";

/** Return what a scenario is called: its name, or else what happens in it. */
export function scenarioName({ name, actions }: Scenario): string {
  return name || actions.map(actionSentence).join(", ") || UNNAMED;
}

type Damaged = ClusterOutcome["result"]["workloads"][number];

/** A workload in one of two scenarios. */
export interface Fate {
  found: Damaged;
  /** Its damage in words; empty for none. */
  damage: string;
}

/** Return the damage to a workload as a badge has it. */
export function damageWords({ found, damage }: Fate): { text: string; tone: "good" | "warning" | "error" } {
  if (found.damages.length > 0)
    return { text: damage, tone: found.runningInTheEnd < found.runningBefore ? "error" : "warning" };
  if (found.notTried > 0) return { text: "not judged: not scheduled again", tone: "warning" };
  return { text: "none", tone: "good" };
}

/** A workload that loses pods in one of two scenarios; null in the one where it does not. */
export interface ComparedWorkload {
  key: Pick<Damaged, "kind" | "namespace" | "name">;
  first: Fate | null;
  second: Fate | null;
}

/** Return the workloads that lose pods in either, by the better of the ranks that they have there. */
export function comparedWorkloads(first: ClusterOutcome, second: ClusterOutcome): ComparedWorkload[] {
  const found = new Map<string, ComparedWorkload & { rank: number }>();
  const add = (outcome: ClusterOutcome, side: "first" | "second"): void => {
    outcome.result.workloads.forEach((one, rank) => {
      const name = `${one.kind} ${one.namespace}/${one.name}`;
      const known = found.get(name) ?? { key: one, first: null, second: null, rank };
      const fate = { found: one, damage: outcome.damages[rank] ?? "" };
      found.set(name, { ...known, [side]: fate, rank: Math.min(known.rank, rank) });
    });
  };
  add(first, "first");
  add(second, "second");
  return [...found.values()].sort((a, b) => a.rank - b.rank);
}

/** Return how many workloads are damaged. */
export function damagedCount({ result }: ClusterOutcome): number {
  return result.workloads.filter(({ damages }) => damages.length > 0).length;
}

/** Return how the second scenario differs from the first, in one sentence. */
export function differenceWords(
  names: readonly [string, string],
  first: ClusterOutcome,
  second: ClusterOutcome,
): string {
  const parts = [
    part(first.result.pending, second.result.pending, "pod", "fits nowhere", "fit nowhere"),
    part(damagedCount(first), damagedCount(second), "workload", "is damaged", "are damaged"),
  ].filter((words) => words !== "");
  const worse = compareDamage(first, second);
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
