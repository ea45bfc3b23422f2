/** What a what-if asks of the server, and what its answer says in numbers. */
import type { BoundStep, DisplacedPod, PendingStep, SimulateAnswer, WhatIfBody } from "../api-types";
import { actionOptions, quoted } from "./actions";
import type { WorkloadKey, WorkloadState } from "./fragment";
import { shortKind } from "./words";

/** Replicas of a workload now; null for what has none. */
export type Replicas = { wanted: number; placed: number } | null;

/** Return the request of a what-if: more replicas are scheduled, fewer are scaled down as the controller does. */
export function whatIfBody(
  manifest: string,
  state: Pick<WorkloadState, "replicas" | "actions">,
  now: Replicas,
): WhatIfBody {
  const actions = state.actions.length ? { actions: [...state.actions] } : {};
  if (now === null || state.replicas === null) return { manifest, ...actions };
  if (state.replicas < now.placed && state.actions.length === 0) return { manifest, scale: state.replicas };
  return { manifest, replicas: Math.max(0, state.replicas - now.placed), ...actions };
}

/** Return the command that finds the evictions which bring a workload back within maxSkew. */
export function rebalanceCommand(key: WorkloadKey, source: { kind: string; name: string }): string {
  const words = [
    "evenkeel rebalance",
    quoted(`${shortKind(key.kind).toLowerCase()}/${key.name}`),
    `-n ${quoted(key.namespace)}`,
  ];
  if (source.kind === "file") words.push(`--cluster ${quoted(source.name)}`);
  return words.join(" ");
}

/** Return the command that gives the same answer in a terminal. */
export function whatIfCommand(state: WorkloadState, body: WhatIfBody, source: { kind: string; name: string }): string {
  const edited = state.edited !== null;
  const words = [
    "evenkeel simulate",
    edited ? "-f edited.yaml" : quoted(`${shortKind(state.kind).toLowerCase()}/${state.name}`),
  ];
  if (!edited) words.push(`-n ${quoted(state.namespace)}`);
  if (source.kind === "file") words.push(`--cluster ${quoted(source.name)}`);
  else if (edited) words.push("--live");
  words.push(...state.actions.map(actionOptions));
  if (typeof body.replicas === "number") words.push(`--replicas ${body.replicas}`);
  if (typeof body.scale === "number") words.push(`--scale ${body.scale}`);
  return words.join(" ");
}

export function isBound(step: BoundStep | PendingStep): step is BoundStep {
  return "node" in step;
}

/** Return the pods that were evicted for pods of higher priority: for displaced ones, and for replicas. */
export function evictedOf(answer: SimulateAnswer): DisplacedPod[] {
  const displaced = answer.whatIf?.displaced ?? [];
  return [...displaced, ...(answer.evicted ?? [])].filter((pod) => pod.evictedFor !== undefined);
}

/** The workload's pods at the end. */
export interface Ends {
  /** Pods with a node, and without one. */
  running: number;
  pending: number;
  /** Why pods have none: the scheduler's sentence, and how many it is said of. */
  reasons: readonly { message: string; pods: number }[];
}

/** Return where the pods of the workload end. */
export function endsOf(answer: SimulateAnswer, now: Replicas): Ends {
  const messages: string[] = [];
  let running: number;
  if (answer.rollout) {
    const { likely } = answer.rollout;
    messages.push(...likely.pending.map(() => likely.condition));
    // Counted by what happened: the answer holds no list of all pods.
    running =
      answer.rollout.kind === "scale" ? scaledTo(answer, now) - messages.length : answer.steps.filter(isBound).length;
  } else {
    const whatIf = answer.whatIf;
    // Without actions only pods of other revisions are evicted, which are not counted here.
    const later = whatIf ? (answer.evicted?.filter((pod) => pod.own) ?? []) : [];
    const own = [...(whatIf?.displaced.filter((pod) => pod.own) ?? []), ...later];
    running = whatIf
      ? (whatIf.ownStayed ?? 0) - later.length + own.filter((pod) => pod.outcome === "recovered").length
      : (answer.replicas?.placed ?? now?.placed ?? 0);
    running += answer.steps.filter(isBound).length;
    for (const pod of own)
      if (pod.outcome === "pending" || pod.outcome === "notTried")
        messages.push(pod.condition ?? pod.why ?? pod.message ?? "");
    for (const step of answer.steps) if (!isBound(step)) messages.push(step.condition || step.message);
  }
  const pods = new Map<string, number>();
  for (const message of messages) pods.set(message, (pods.get(message) ?? 0) + 1);
  return {
    running,
    pending: messages.length,
    reasons: [...pods].map(([message, found]) => ({ message, pods: found })),
  };
}

function scaledTo(answer: SimulateAnswer, now: Replicas): number {
  const trace = answer.rollout?.likely.trace ?? [];
  const created = trace.filter((step) => step.action === "created").length;
  const deleted = trace.filter((step) => step.action === "deleted").length;
  return (answer.replicas?.placed ?? now?.placed ?? 0) + (answer.rollout?.placedBefore ?? 0) + created - deleted;
}
