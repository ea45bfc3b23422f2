/** What changed from one reading of the cluster to the next. */
import type { Cluster } from "./cluster";
import type { WorkloadKey } from "./fragment";
import { count, printable } from "./words";

/** A workload whose pods are other ones now. */
export interface ChangedWorkload extends WorkloadKey {
  running: readonly [before: number, after: number];
  pending: readonly [before: number, after: number];
}

export interface Changed {
  /** Whether each pod of ``podWorkload`` has come to its node. */
  arrived: Uint8Array;
  /** What happened to nodes and pods, in words; empty if nothing that the page shows. */
  sentences: readonly string[];
  /** The workloads whose numbers changed, those first that lost the most pods. */
  workloads: readonly ChangedWorkload[];
}

/** Nodes that a sentence names. */
const MOST_NAMED = 3;

/** Return what changed between two readings of one cluster. */
export function changesBetween(before: Cluster, after: Cluster): Changed {
  const positions = new Map(before.names.map((name, node) => [name, node]));
  const there = new Set(after.names);
  const arrived = new Uint8Array(after.podWorkload.length);
  let [came, kept] = [0, 0];
  after.names.forEach((name, node) => {
    const old = positions.get(name);
    const counts = new Map(
      old === undefined ? [] : before.workloadsOn(old).map(([at, pods]) => [keyOf(before, at), pods]),
    );
    const [first, end] = after.podsOn(node);
    for (let pod = end - 1; pod >= first; pod -= 1) {
      const key = keyOf(after, after.podWorkload[pod] ?? -1);
      const left = counts.get(key) ?? 0;
      counts.set(key, left - 1);
      if (left > 0) kept += 1;
      else {
        arrived[pod] = 1;
        came += 1;
      }
    }
  });
  const nodesOf = (cluster: Cluster, nodes: ReadonlySet<number>): Set<string> =>
    new Set([...nodes].map((node) => cluster.names[node] ?? ""));
  const [cordoned, wereCordoned] = [nodesOf(after, after.cordoned), nodesOf(before, before.cordoned)];
  const [notReady, wereNotReady] = [nodesOf(after, after.notReady), nodesOf(before, before.notReady)];
  const inBoth = (names: Iterable<string>, others: ReadonlySet<string>): string[] =>
    [...names].filter((name) => positions.has(name) && there.has(name) && !others.has(name));
  const went = before.podWorkload.length - kept;
  const sentences = [
    nodes(
      after.names.filter((name) => !positions.has(name)),
      "is new",
      "are new",
    ),
    nodes(
      before.names.filter((name) => !there.has(name)),
      "is gone",
      "are gone",
    ),
    nodes(inBoth(cordoned, wereCordoned), "was cordoned", "were cordoned"),
    nodes(inBoth(wereCordoned, cordoned), "was uncordoned", "were uncordoned"),
    nodes(inBoth(notReady, wereNotReady), "is not ready", "are not ready"),
    nodes(inBoth(wereNotReady, notReady), "is ready again", "are ready again"),
    came ? `${count(came, "pod")} came to a node` : "",
    went ? `${count(went, "pod")} left one` : "",
  ].filter((sentence) => sentence !== "");
  return { arrived, sentences, workloads: changedWorkloads(before, after) };
}

function changedWorkloads(before: Cluster, after: Cluster): ChangedWorkload[] {
  const numbers = (cluster: Cluster): Map<string, [WorkloadKey, number, number]> =>
    new Map(
      cluster.workloads.map((key, at) => [
        keyOf(cluster, at),
        [key, cluster.running[at] ?? 0, cluster.pending[at] ?? 0],
      ]),
    );
  const [old, now] = [numbers(before), numbers(after)];
  return [...new Map([...old, ...now])]
    .map(([text, [key]]): ChangedWorkload => {
      const [[, wasRunning, wasPending], [, running, pending]] = [
        old.get(text) ?? [key, 0, 0],
        now.get(text) ?? [key, 0, 0],
      ];
      return { ...key, running: [wasRunning, running], pending: [wasPending, pending] };
    })
    .filter(({ running, pending }) => running[0] !== running[1] || pending[0] !== pending[1])
    .sort((a, b) => a.running[1] - a.running[0] - (b.running[1] - b.running[0]));
}

function keyOf(cluster: Cluster, workload: number): string {
  const key = cluster.workloads[workload];
  return key ? `${key.kind}/${key.namespace}/${key.name}` : "";
}

function nodes(names: readonly string[], one: string, several: string): string {
  if (names.length === 0) return "";
  const named = names.slice(0, MOST_NAMED).map(printable).join(", ");
  if (names.length > MOST_NAMED) return `${count(names.length, "node")} ${several}, such as ${named}`;
  return `${names.length === 1 ? "node" : "nodes"} ${named} ${names.length === 1 ? one : several}`;
}
