/** The map of one workload's pods: the nodes of the cluster with no other pods on them. */
import type { ClusterMap } from "../api-types";
import { Cluster } from "./cluster";
import type { WorkloadKey } from "./fragment";
import type { Flight, Motion } from "./moves";
import type { OwnPods } from "./ownPods";

/** The workloads of such a map: the pods that run or are new, and those of the old revision. */
const [CURRENT, OLD] = [0, 1];
const PENDING = -1;

export interface OwnMap {
  cluster: Cluster;
  motion: Motion;
  /** How many pods have just left each node. */
  left: (node: number) => number;
  /** Pods without a node. */
  pending: number;
}

/**
 * Return the map.
 *
 * @param cluster The nodes, those that are added or gone in a what-if among them.
 */
export function ownMap(cluster: Cluster, key: WorkloadKey, { pods, gone }: OwnPods): OwnMap {
  const at = (name: string): number => cluster.positionOf(name);
  const placed = pods.flatMap((pod) => {
    const node = pod.node === null ? PENDING : at(pod.node);
    return node < 0 ? [] : [{ ...pod, node }];
  });
  const own = new Cluster(mapOf(cluster.map, key, placed), cluster.lost, cluster.coming);
  const arrived = new Uint8Array(placed.length);
  const left = new Map<number, number>();
  const leave = (name: string): [number, number] => {
    const node = at(name);
    const before = left.get(node) ?? 0;
    left.set(node, before + 1);
    return [node, own.podsIn(node) + before];
  };
  const flights: Flight[] = [];
  for (const { node, old, from } of placed) {
    if (from === null) continue;
    const workload = old ? OLD : CURRENT;
    const [first, end] = own.podsOn(node);
    let pod = end - 1;
    while (pod > first && (own.podWorkload[pod] !== workload || arrived[pod])) pod -= 1;
    arrived[pod] = 1;
    if (from !== "" && at(from) >= 0) flights.push({ workload, from: leave(from), to: [node, pod - first] });
  }
  for (const name of gone) if (at(name) >= 0) flights.push({ workload: OLD, from: leave(name), to: null });
  return {
    cluster: own,
    motion: { arrived, flights },
    left: (node) => left.get(node) ?? 0,
    pending: pods.filter(({ node }) => node === null).length,
  };
}

function mapOf(
  map: ClusterMap,
  { kind, namespace, name }: WorkloadKey,
  placed: readonly { node: number; old: boolean }[],
): ClusterMap {
  return {
    ...map,
    workloads: {
      kinds: [kind],
      namespaces: [namespace],
      kind: [0, 0],
      namespace: [0, 0],
      name: [name, `${name} (old)`],
    },
    pods: { node: placed.map(({ node }) => node), workload: placed.map(({ old }) => (old ? OLD : CURRENT)) },
  };
}
