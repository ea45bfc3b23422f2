/** A what-if: what is asked of the server, and the command that answers the same. */
import type { ClusterMap, LostDomain, PageAutoscaler, WhatIfBody } from "../api-types";
import type { NodeEvent } from "./actions";
import { actionOptions, quoted } from "./actions";
import type { WorkloadKey, WorkloadState } from "./fragment";
import { shortKind } from "./words";

/** What a person asks of a workload. */
type Asked = WorkloadKey & Pick<WorkloadState, "edited" | "replicas" | "actions" | "newNodes">;

/** Return whether anything is asked but where its pods are. */
export function isAsked({ edited, replicas, actions, newNodes }: Asked): boolean {
  return edited !== null || replicas !== null || actions.length > 0 || newNodes;
}

/**
 * Return what is asked of a workload: the edited copy is applied, then it is scaled, then nodes change.
 *
 * @param restarts Whether it is rolled out again as it is.
 */
export function askOfWorkload(asked: Asked, autoscale: PageAutoscaler | null, restarts = false): WhatIfBody {
  const { kind, namespace, name, edited, replicas, actions, newNodes } = asked;
  const target = { kind, namespace, name };
  return {
    ...(edited === null ? {} : { manifest: edited }),
    events: [
      ...(restarts ? [{ restart: target }] : []),
      ...(replicas === null ? [] : [{ scale: { ...target, to: replicas } }]),
      ...actions,
    ],
    // A pod of its own is no workload.
    ...(kind === "Pod" ? {} : { workloads: [target] }),
    ...(newNodes && autoscale ? { autoscale: autoscale.documents } : {}),
  };
}

/** Return what is asked of the whole cluster, to which an autoscaler may add nodes if there is one. */
export function askOfCluster(actions: readonly NodeEvent[], autoscale: PageAutoscaler | null): WhatIfBody {
  return { events: [...actions], ...(autoscale ? { autoscale: autoscale.documents } : {}) };
}

/** Return a loss as a person asks for it. */
export function lossOf({ topologyKey, value, unreachable }: LostDomain): LostDomain {
  return { topologyKey, value, ...(unreachable === true ? { unreachable } : {}) };
}

/** Return the command that finds the evictions which bring a workload back within maxSkew. */
export function evictionsCommand(key: WorkloadKey, { kind, name }: { kind: string; name: string }): string {
  const words = [
    `evenkeel audit ${target(key)}`,
    `-n ${quoted(key.namespace)} --evictions`,
    ...(kind === "file" ? [`--cluster ${quoted(name)}`] : []),
  ];
  return words.join(" ");
}

/** Return the command that answers the same in a terminal; empty where nothing is asked. */
export function whatIfCommand(
  body: WhatIfBody,
  key: WorkloadKey | null,
  { source, autoscale }: Pick<ClusterMap, "source" | "autoscale">,
): string {
  const { manifest, events, each, unreachable } = body;
  if (manifest === undefined && !events?.length && !each) return "";
  const words = ["evenkeel what-if"];
  if (key && manifest === undefined) words.push(target(key), `-n ${quoted(key.namespace)}`);
  if (manifest !== undefined) words.push("-f edited.yaml");
  for (const event of events ?? []) {
    if (event.restart) words.push("--restart");
    else if (event.scale) words.push(`--replicas ${event.scale.to ?? 0}`);
    else words.push(actionOptions(event));
  }
  if (each) words.push(`--lose-each ${quoted(each)}`);
  const stay = unreachable === true || events?.some(({ lose }) => lose?.unreachable === true);
  if (stay) words.push("--unreachable");
  if (body.autoscale && autoscale) words.push(`--autoscale ${quoted(autoscale.name)}`);
  words.push(source.kind === "file" ? `--cluster ${quoted(source.name)}` : "--live");
  return words.join(" ");
}

function target({ kind, name }: WorkloadKey): string {
  return quoted(`${shortKind(kind).toLowerCase()}/${name}`);
}
