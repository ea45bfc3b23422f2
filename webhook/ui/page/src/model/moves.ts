/** The cluster after what happens to its nodes in a what-if: where every pod is then, and which of them came from where. */
import type {
  ChangedNodes,
  ClusterMap,
  LabelValues,
  MovedPods,
  NodeColumns,
  NodesOutcome,
  PlayedWhatIf,
} from "../api-types";
import type { NodeEvent } from "./actions";
import { Cluster } from "./cluster";

/** Where a pod is that stays pending, in the columns of an answer and of the cluster. */
const PENDING = -1;
/** More than workloads of any cluster, so that no two places have one number. */
const WORKLOADS = 2 ** 24;
/** Pods that are seen to move: more are there at once. */
const MOST_FLYING = 3_000;
const HOSTNAME = "kubernetes.io/hostname";

const ZONE = "topology.kubernetes.io/zone";
const NOTHING: MovedPods = { workload: [], origin: [], node: [] };

/** A pod that moves: where its square was and is, as a node and a place among its pods. */
export interface Flight {
  workload: number;
  from: readonly [node: number, pod: number];
  /** Null where it gets no node. */
  to: readonly [node: number, pod: number] | null;
}

/** The pods of a workload that get no node. */
export interface Stuck {
  /** -1 for pods without a controller. */
  workload: number;
  pods: number;
}

/** What has just moved on a map. */
export interface Motion {
  /** Whether each pod of the map's ``podWorkload`` has just come to its node. */
  readonly arrived: Uint8Array;
  readonly flights: readonly Flight[];
}

export class Moves implements Motion {
  /** The cluster afterwards. */
  readonly after: Cluster;
  readonly arrived: Uint8Array;
  readonly flights: readonly Flight[];
  /** Pods that stay pending, the most first. */
  readonly stuck: readonly Stuck[];

  constructor(before: Cluster, { outcome, moved }: PlayedWhatIf) {
    const [pods = NOTHING] = moved;
    const { workload, origin, node } = pods;
    this.after = new Cluster(
      {
        ...before.map,
        nodes: nodesAfter(before, outcome.nodes),
        pods: podsAfter(before, pods),
      },
      new Set(outcome.nodes.lost.map((name) => before.positionOf(name))),
    );
    this.arrived = new Uint8Array(this.after.podWorkload.length);
    const left = new Map<number, number>();
    const stuck = new Map<number, number>();
    const flights: Flight[] = [];
    for (let at = 0; at < workload.length; at += 1) {
      const [whose, target] = [workload[at] ?? -1, node[at] ?? PENDING];
      if (target === PENDING) stuck.set(whose, (stuck.get(whose) ?? 0) + 1);
      if (target < PENDING) continue;
      const to = target === PENDING ? null : ([target, this.arrive(target, whose)] as const);
      // More are not seen to move.
      if (flights.length >= MOST_FLYING) continue;
      const from = origin[at] ?? 0;
      const key = placeKey(from, whose);
      const gone = left.get(key) ?? 0;
      left.set(key, gone + 1);
      flights.push({ workload: whose, from: [from, placeOf(before, from, whose) + gone], to });
    }
    this.flights = flights;
    this.stuck = [...stuck].map(([found, pods]) => ({ workload: found, pods })).sort((a, b) => b.pods - a.pods);
  }

  /** Mark one more pod of a workload as new on a node; return its place there. */
  private arrive(node: number, workload: number): number {
    return Math.max(0, take(this.after, node, workload, this.arrived) - this.after.podsOn(node)[0]);
  }
}

const MADE = new WeakMap<PlayedWhatIf, Moves>();

/** Return what an answer moves in its cluster, which is made once. */
export function movesOf(before: Cluster, played: PlayedWhatIf): Moves {
  const found = MADE.get(played) ?? new Moves(before, played);
  MADE.set(played, found);
  return found;
}

/** Return how many nodes something happens to, and the pods on them and their workloads, known without the server. */
export function touched(
  cluster: Cluster,
  actions: readonly NodeEvent[],
): { nodes: number; pods: number; workloads: number } {
  const nodes = new Set<number>();
  for (const action of actions) {
    const { lose } = action;
    const named = action.drain ?? action.taint?.node;
    cluster.names.forEach((name, node) => {
      if (name === named || (lose && cluster.domainOf(node, fullKey(cluster, lose.topologyKey)) === lose.value))
        nodes.add(node);
    });
  }
  const workloads = new Set<number>();
  let pods = 0;
  for (const node of nodes) {
    const [first, end] = cluster.podsOn(node);
    pods += end - first;
    for (const workload of cluster.podWorkload.subarray(first, end)) if (workload >= 0) workloads.add(workload);
  }
  return { nodes: nodes.size, pods, workloads: workloads.size };
}

/** Return a topology key that a link may have short. */
function fullKey(cluster: Cluster, key: string): string {
  const { topologyKeys } = cluster.map;
  return topologyKeys.includes(key) ? key : (topologyKeys.find((found) => found.endsWith(`/${key}`)) ?? key);
}

/** Return what identifies a workload on a node; as a number, since a text takes several times as long to look up. */
function placeKey(node: number, workload: number): number {
  return node * WORKLOADS + workload;
}

/** Return the place of the first pod of a workload on a node. */
function placeOf(cluster: Cluster, node: number, workload: number): number {
  return Math.max(0, cluster.podWorkload.subarray(...cluster.podsOn(node)).indexOf(workload));
}

/** Return the last pod of a workload on a node that is not taken, and take it; -1 if there is none. */
function take(cluster: Cluster, node: number, workload: number, taken: Uint8Array): number {
  const { podWorkload } = cluster;
  const [first, end] = cluster.podsOn(node);
  // A node's pods are sorted by workload.
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((podWorkload[middle] ?? 0) <= workload) low = middle + 1;
    else high = middle;
  }
  let pod = low - 1;
  while (pod >= first && taken[pod] === 1) pod -= 1;
  if (pod < first || podWorkload[pod] !== workload) return -1;
  taken[pod] = 1;
  return pod;
}

/** Return where the pods are once some have moved. */
function podsAfter(before: Cluster, moved: MovedPods): ClusterMap["pods"] {
  const { node, workload } = before.map.pods;
  const nodes = node.slice();
  // Those without a node come first.
  const placed = nodes.length - before.podWorkload.length;
  const left = new Uint8Array(before.podWorkload.length);
  const gone = new Uint8Array(nodes.length);
  moved.workload.forEach((found, at) => {
    const pod = take(before, moved.origin[at] ?? 0, found, left);
    if (pod < 0) return;
    const target = moved.node[at] ?? PENDING;
    // What nothing replaces is no pod any more; what was not tried has no place either.
    if (target < PENDING) gone[placed + pod] = 1;
    else nodes[placed + pod] = target;
  });
  return {
    node: nodes.filter((_, pod) => gone[pod] === 0),
    workload: workload.filter((_, pod) => gone[pod] === 0),
  };
}

/** Return the nodes once things happened to them: new ones behind the others. */
export function nodesAfter(before: Cluster, { created, added: scaled, changed }: NodesOutcome): NodeColumns {
  const { nodes } = before.map;
  const addedNodes = [...created, ...scaled.map(({ name }) => name)];
  // Of a node that an autoscaler adds the zone is known.
  const coming = scaled.map(({ name, zone }): ChangedNodes => ({
    names: [name],
    cordoned: false,
    taints: [],
    labels: zone === "" ? {} : { [ZONE]: zone },
  }));
  const changedNodes = [...changed, ...coming];
  if (changedNodes.length === 0) return nodes;
  const taints = { values: [...nodes.taints.values], of: [...nodes.taints.of] };
  const cordoned = new Set(nodes.cordoned);
  const added = new Map(addedNodes.map((name, at) => [name, nodes.names.length + at]));
  const labels = new Map(Object.entries(nodes.labels).map(([key, of]) => [key, grown(of)]));
  for (const { names, cordoned: closed, taints: given, labels: own } of changedNodes) {
    const number = taints.values.push(given) - 1;
    for (const name of names) {
      const at = added.get(name) ?? before.positionOf(name);
      taints.of[at] = number;
      if (closed) cordoned.add(at);
      else cordoned.delete(at);
      labels.forEach((column, key) => {
        // What a node of its own name is called stays.
        if (key !== HOSTNAME) column.of[at] = column.find(own[key] ?? null);
        else if (added.has(name)) column.of[at] = column.find(name);
      });
    }
  }
  return {
    ...nodes,
    names: [...nodes.names, ...addedNodes],
    taints,
    cordoned: [...cordoned],
    labels: Object.fromEntries([...labels].map(([key, { values, of }]) => [key, { values, of }])),
  };
}

/** Return a copy of a label to which nodes are added. */
function grown({ values, of }: LabelValues): LabelValues & { find: (value: string | null) => number } {
  const known = new Map(values.map((value, at) => [value, at]));
  const copied = { values: [...values], of: [...of] };
  const find = (value: string | null): number => {
    if (value === null) return -1;
    const found = known.get(value) ?? copied.values.push(value) - 1;
    known.set(value, found);
    return found;
  };
  return { ...copied, find };
}
