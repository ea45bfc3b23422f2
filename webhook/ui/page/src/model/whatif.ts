/** What a what-if asks of the server, and what its answer says in numbers. */
import type {
  BoundStep,
  ClusterMap,
  DisplacedPod,
  LostVolume,
  DomainStages,
  ExplainAnswer,
  PageAutoscaler,
  PendingStep,
  ReportBody,
  RolloutBody,
  SimulateAnswer,
  WhatIf,
  WhatIfBody,
  WorkloadDetail,
} from "../api-types";
import { actionOptions, quoted } from "./actions";
import type { WorkloadKey, WorkloadState } from "./fragment";
import { shortKind } from "./words";

/** Replicas of a workload now; null for what has none. */
export type Replicas = { wanted: number; placed: number } | null;

/** A request of a what-if: the manifest is rolled out in place of what runs, or its replicas are scheduled. */
export type WhatIfRequest = { rollout: RolloutBody } | { simulate: WhatIfBody };

/** What a person changes beside the manifest. */
type Changes = Pick<WorkloadState, "replicas" | "actions" | "newNodes">;

/**
 * Return the request of a what-if of an edited copy, which replaces the pods that run.
 *
 * @param rolledOut Whether rollouts of its kind are simulated; replicas of others are scheduled beside those that run.
 */
export function editedRequest(
  manifest: string,
  state: Changes,
  rolledOut: boolean,
  autoscaler: PageAutoscaler | null,
): WhatIfRequest {
  const replicas = state.replicas === null ? {} : { replicas: state.replicas };
  const body = { ...whatIfBody(manifest, { ...state, replicas: null }, null, autoscaler), ...replicas };
  if (!rolledOut) return { simulate: body };
  const nodesChange = body.actions !== undefined || body.autoscale !== undefined;
  return nodesChange ? { simulate: { ...body, applied: true } } : { rollout: { manifest, ...replicas } };
}

/** Return the request of a what-if: more replicas are scheduled, fewer are scaled down as the controller does. */
export function whatIfBody(
  manifest: string,
  state: Changes,
  now: Replicas,
  autoscaler: PageAutoscaler | null,
): WhatIfBody {
  const actions = state.actions.length ? { actions: [...state.actions] } : {};
  const nodes = state.newNodes && autoscaler ? { ...actions, autoscale: autoscaler.documents } : actions;
  if (now === null || state.replicas === null) return { manifest, ...nodes };
  // Where pods only go none is pending, so no node comes.
  if (state.replicas < now.placed && state.actions.length === 0) return { manifest, scale: state.replicas };
  return { manifest, replicas: Math.max(0, state.replicas - now.placed), ...nodes };
}

/** Return the command that finds the evictions which bring a workload back within maxSkew. */
export function rebalanceCommand(key: WorkloadKey, source: { kind: string; name: string }): string {
  const words = [
    "evenkeel audit",
    quoted(`${shortKind(key.kind).toLowerCase()}/${key.name}`),
    `-n ${quoted(key.namespace)} --evictions`,
  ];
  if (source.kind === "file") words.push(`--cluster ${quoted(source.name)}`);
  return words.join(" ");
}

/** Return the command that gives the same answer in a terminal. */
export function whatIfCommand(
  state: WorkloadState,
  request: WhatIfRequest,
  { source, autoscale }: Pick<ClusterMap, "source" | "autoscale">,
): string {
  const edited = state.edited !== null;
  const words = [
    "evenkeel what-if",
    edited ? "-f edited.yaml" : quoted(`${shortKind(state.kind).toLowerCase()}/${state.name}`),
  ];
  if (!edited) words.push(`-n ${quoted(state.namespace)}`);
  if (source.kind === "file") words.push(`--cluster ${quoted(source.name)}`);
  else if (edited) words.push("--live");
  words.push(...state.actions.map(actionOptions));
  if ("rollout" in request) return [...words, ...(edited ? [] : ["--restart"])].join(" ");
  const body = request.simulate;
  if (typeof body.replicas === "number") words.push(`--replicas +${body.replicas}`);
  else if (!edited && body.scale == null && state.actions.length === 0) words.push("--replicas +0");
  if (typeof body.scale === "number") words.push(`--replicas ${body.scale}`);
  if (body.autoscale && autoscale) words.push(`--autoscale ${quoted(autoscale.name)}`);
  return words.join(" ");
}

/** Return the request of a report of the view that is shown. */
export function reportBody(
  manifest: string,
  state: WorkloadState,
  detail: WorkloadDetail,
  explain: ExplainAnswer | null,
  { map }: { map: Pick<ClusterMap, "source" | "autoscale"> },
): ReportBody {
  if (state.tab === "rollout")
    return { view: "rollout", manifest, command: whatIfCommand(state, { rollout: { manifest } }, map) };
  const request: WhatIfRequest =
    state.edited === null
      ? { simulate: whatIfBody(manifest, state, explain?.replicas ?? null, map.autoscale) }
      : editedRequest(manifest, state, detail.rolledOut, map.autoscale);
  const command = whatIfCommand(state, request, map);
  if (state.tab !== "what-if") {
    const object =
      state.edited === null ? quoted(`${shortKind(state.kind).toLowerCase()}/${state.name}`) : "-f edited.yaml";
    const { source } = map;
    const where = source.kind === "file" ? `--cluster ${quoted(source.name)}` : "--live";
    return { view: "explain", manifest, command: `evenkeel explain ${object} -n ${quoted(state.namespace)} ${where}` };
  }
  return "rollout" in request
    ? { view: "rollout", ...request.rollout, command }
    : { view: "simulate", ...request.simulate, command };
}

export function isBound(step: BoundStep | PendingStep): step is BoundStep {
  return "node" in step;
}

/** Return the pods that were evicted for pods of higher priority: for displaced ones, and for replicas. */
export function evictedOf(answer: SimulateAnswer): DisplacedPod[] {
  const displaced = answer.whatIf?.displaced ?? [];
  return [...displaced, ...answer.evicted].filter((pod) => pod.evictedFor !== undefined);
}

/** Return the volumes that no node reaches at the end, of replicas and of displaced pods; each once. */
export function lostVolumesOf({ rollout, steps, whatIf }: SimulateAnswer): LostVolume[] {
  const pods = [...steps, ...(whatIf?.displaced ?? [])];
  const found = [
    ...(rollout?.likely.lostVolumes ?? []),
    ...pods.flatMap((pod) => ("lostVolumes" in pod ? (pod.lostVolumes ?? []) : [])),
  ];
  return [...new Map(found.map((lost) => [`${lost.pod}/${lost.volume}`, lost])).values()];
}

/** The workload's pods at the end. */
export interface Ends {
  /** Pods with a node, and without one. */
  running: number;
  pending: number;
  /** Why pods have none: the scheduler's sentence, and how many it is said of. */
  reasons: readonly { message: string; pods: number }[];
}

/** Return where the pods of the workload end, as the answer counts them, and why some have no node. */
export function endsOf(answer: SimulateAnswer): Ends {
  const messages: string[] = [];
  if (answer.rollout) {
    const { likely } = answer.rollout;
    messages.push(...likely.pending.map(() => likely.condition));
  } else {
    const own = [...(answer.whatIf?.displaced ?? []), ...(answer.whatIf ? answer.evicted : [])];
    for (const pod of own)
      if (pod.own && (pod.outcome === "pending" || pod.outcome === "notTried"))
        messages.push(pod.condition ?? pod.why ?? pod.message ?? "");
    for (const step of answer.steps) if (!isBound(step)) messages.push(step.condition || step.message);
  }
  const pods = new Map<string, number>();
  for (const message of messages) pods.set(message, (pods.get(message) ?? 0) + 1);
  return {
    running: answer.ends?.running ?? answer.steps.filter(isBound).length,
    pending: answer.ends?.pending ?? messages.length,
    reasons: [...pods].map(([message, found]) => ({ message, pods: found })),
  };
}

/** Return how many pods were scheduled, and how many of them had several best nodes, of which one was taken. */
export function chancesOf(answer: SimulateAnswer): { pods: number; tied: number } {
  const moved = (answer.whatIf?.displaced ?? []).filter((pod) => pod.node !== undefined);
  const ties = [...answer.steps.filter(isBound), ...moved].map((step) => step.tied?.length ?? 0);
  return { pods: ties.length, tied: ties.filter((tied) => tied > 1).length };
}

/** Return the largest number of pods of a constraint's domains that run on but are no longer counted. */
export function uncountedOf(answer: WhatIf, stages: DomainStages): number {
  if (stages.nodeTaintsPolicy !== "Honor") return 0;
  const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);
  return Math.max(0, sum(stages.before) - sum(stages.disrupted) - answer.displaced.length);
}
