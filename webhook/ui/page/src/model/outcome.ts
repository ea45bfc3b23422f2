/** An outcome in words and rows: what `planning.simulation.outcome` answers, ready to be shown. */
import type {
  Event as ScenarioEvent,
  Outcome,
  Step,
  Survival,
  Verdict,
  WorkloadOutcome,
  WorkloadRef,
} from "../api-types";
import type { Tone } from "../parts/text";
import { foremost } from "./skew";
import { count, number, shortKey } from "./words";

export type Cause = Verdict["cause"];

/** A cause as a badge has it, the worst first. */
export const CAUSES: Record<Cause, string> = {
  refused: "refused",
  down: "none runs",
  deadlock: "deadlock",
  blocked: "blocked",
  "below-budget": "below its budget",
  pending: "pods pending",
  "waits-for-deletion": "waits for deletion",
  interrupted: "all lost at once",
  "not-read": "not read",
  "not-tried": "not tried",
  stopped: "ended early",
  "needs-nodes": "needs new nodes",
  "one-domain": "one domain stops it",
  "above-max-skew": "above maxSkew",
  "not-recreated": "not recreated",
  "fewer-left": "fewer left",
  uneven: "uneven",
  fits: "runs",
};

/** Return how a verdict is shown: only what holds without a word of warning is green. */
export function toneOf({ value, cause }: Pick<Verdict, "value" | "cause">): Tone {
  if (value === null) return "unknown";
  return value ? (cause === "fits" ? "good" : "warning") : "error";
}

const RANKS = Object.keys(CAUSES);

/** Return which of two verdicts is worse: negative for the first, positive for the second. */
export function compareVerdicts(first: Verdict, second: Verdict): number {
  return RANKS.indexOf(first.cause) - RANKS.indexOf(second.cause);
}

/** Return a clause as a sentence; a name at its beginning stays as it is. */
export function asSentence(clause: string): string {
  const begun = /^[a-z]+(?=\s)/.test(clause) ? clause.charAt(0).toUpperCase() + clause.slice(1) : clause;
  return /[.?!]$/.test(begun) ? begun : `${begun}.`;
}

/** Return how other choices among equal nodes end; empty where one way was played. */
export function waysWords({ branches }: Outcome): string {
  if (!branches || branches.tried < 2) return "";
  const { tried, exact, endsWorse, worst } = branches;
  if (endsWorse > 0) return `Chance decides: in ${number(endsWorse)} of ${number(tried)} ways ${worst.sentence}.`;
  return `Chance decides between equal nodes: ${number(tried)} ways were played${exact ? "" : ", not all"}; none ends worse.`;
}

export function isSame(a: WorkloadRef, b: WorkloadRef): boolean {
  return a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;
}

/** Return a number before and after, once where it stays; what is new has none before. */
export function changeWords(before: number | null, after: number): string {
  return before === null || before === after ? number(after) : `${number(before)} → ${number(after)}`;
}

/** A domain in which pods of a workload run, or could. */
export interface DomainRow {
  name: string;
  before: number | null;
  /** The pods that were there before; 0 where that is not known. */
  pods: number;
  after: number;
}

/** Domains up to which all are listed by name. */
export const MOST_ROWS = 8;

/** Return the domains of a key: by name, or where these are many those that change and the fullest first. */
export function domainRows({ before, after }: Pick<Survival, "before" | "after">): DomainRow[] {
  const order = new Intl.Collator("en", { numeric: true });
  const names = Object.keys({ ...before, ...after }).sort((a, b) => order.compare(a, b));
  const rows = names.map((name) => ({
    name,
    before: before && (before[name] ?? 0),
    pods: before?.[name] ?? 0,
    after: after[name] ?? 0,
  }));
  return rows.length > MOST_ROWS ? foremost(rows) : rows;
}

/** Return in how many domains pods are, of how many that could have some, and which is the fullest. */
export function spreadWords(found: Survival): string {
  const held = (counts: Survival["after"]): number => Object.values(counts).filter((pods) => pods > 0).length;
  const domains = changeWords(found.before && held(found.before), held(found.after));
  const more = found.otherDomains > 0 ? " or more" : "";
  const of = found.possible === null ? "" : ` of ${number(found.possible)} that could have some`;
  return `Pods in ${domains}${more}${of}; ${fullestWords(found)}.`;
}

function fullestWords({ before, after, fullest, fullestBefore }: Survival): string {
  if (fullest === null) return "none runs at the end";
  const [was, is] = [fullestBefore === null ? null : (before?.[fullestBefore] ?? 0), after[fullest] ?? 0];
  if (fullestBefore === null || fullestBefore === fullest)
    return `the fullest is ${shown(fullest)} with ${changeWords(was, is)}`;
  return `the fullest was ${shown(fullestBefore)} with ${number(was ?? 0)}, and is ${shown(fullest)} with ${number(is)}`;
}

function shown(domain: string): string {
  return domain === "" ? "(empty)" : domain;
}

/** The loss of one domain, as a column of the matrix. */
export interface LostColumn {
  event: ScenarioEvent;
  value: string;
  outcome: Outcome;
}

/** Return the losses of domains by their names. */
export function lostColumns(outcomes: readonly Outcome[]): LostColumn[] {
  const order = new Intl.Collator("en", { numeric: true });
  return outcomes
    .flatMap((outcome): LostColumn[] => {
      const event = outcome.scenario.events.at(-1);
      return event?.lose ? [{ event, value: event.lose.value, outcome }] : [];
    })
    .sort((a, b) => order.compare(a.value, b.value));
}

/** Return what runs of a workload right after a loss and in the end; null where it loses nothing. */
export function cellOf(column: LostColumn, workload: WorkloadRef): WorkloadOutcome | null {
  return column.outcome.workloads.find((found) => isSame(found, workload)) ?? null;
}

const DID: Record<Step["did"], (pod: string, node: string) => string> = {
  bound: (pod, node) => `${pod} goes to ${node}`,
  pending: (pod) => `${pod} stays pending`,
  deleted: (pod, node) => (node === "" ? `${pod} is deleted` : `${pod} is deleted from ${node}`),
  evicted: (pod, node) => `${pod} is evicted from ${node}`,
  notEvicted: (pod) => `${pod} may not be evicted`,
  notRecreated: (pod) => `${pod} is gone: nothing creates it again`,
  lost: (pod, node) => (pod === "" ? `node ${node} is lost` : `${pod} is lost with ${node}`),
  cordoned: (_, node) => `node ${node} is cordoned`,
  changed: (_, node) => `node ${node} is changed`,
  added: (_, node) => `node ${node} is added`,
  removed: (_, node) => `node ${node} is removed`,
};

/** Return a step in words. */
export function stepWords({ did, pod, node, new: fresh }: Step): string {
  const revision = fresh === null ? "" : fresh ? "new pod " : "old pod ";
  return DID[did](`${revision}${pod ?? ""}`, node ?? "");
}

/** Return the nodes that come or go for pods, in sentences. */
export function nodeWords({ nodes }: Outcome): string[] {
  const groups = new Map<string, number>();
  for (const { group, zone } of nodes.added) {
    const name = zone === "" ? group : `${group} in zone ${zone}`;
    groups.set(name, (groups.get(name) ?? 0) + 1);
  }
  const come = [...groups].map(([name, nodesOf]) => `${number(nodesOf)} of ${name}`).join(", ");
  const cost = nodes.costPerHour;
  return [
    ...(come === "" ? [] : [`${count(nodes.added.length, "node")} would be added: ${come}.`]),
    ...(nodes.removed.length
      ? [`${count(nodes.removed.length, "node")} would be removed: ${nodes.removed.join(", ")}.`]
      : []),
    ...(cost === null || (come === "" && nodes.removed.length === 0)
      ? []
      : [`An hour would cost ${cost < 0 ? "" : "+"}${cost.toFixed(2)}.`]),
  ];
}

/** Return what a key is called where one of its domains goes: "zone" for topology.kubernetes.io/zone. */
export function domainNoun(key: string): string {
  return key === "kubernetes.io/hostname" ? "node" : shortKey(key);
}
