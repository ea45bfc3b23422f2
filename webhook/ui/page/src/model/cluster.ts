/** The cluster as columns, with what the map asks of it. */
import type { ClusterMap, Taint } from "../api-types";
import { OTHER_POSITION, SWATCHES } from "./colors";
import type { ColorBy, WorkloadKey } from "./fragment";
import type { Domain } from "./layout";

/** Where a pod is that has no node. */
const PENDING = -1;
/** The part of all pods that the colored workloads have at least. */
const LEAST_SHARE = 0.15;
const CORDON = "node.kubernetes.io/unschedulable";

export class Cluster {
  readonly names: readonly string[];
  readonly notReady: ReadonlySet<number>;
  readonly cordoned: ReadonlySet<number>;
  /** The workload of each pod, sorted by node and, on a node, by workload; -1 for none. */
  readonly podWorkload: Int32Array;
  /** Pods of each workload that have a node, and that have none. */
  readonly running: Int32Array;
  readonly pending: Int32Array;
  readonly podCount: number;
  readonly pendingCount: number;
  /** Pods on nodes that are not among the nodes. */
  readonly elsewhereCount: number;
  readonly workloads: readonly WorkloadKey[];
  /** Whether each pod has come to its node since the reading before; null for the first one. */
  arrived: Uint8Array | null = null;
  private readonly firstPod: Int32Array;
  private positions: ReadonlyMap<string, number> | null = null;

  /**
   * @param map Where every pod is.
   * @param lost The nodes that are gone or unreachable in a what-if.
   * @param coming The nodes that an autoscaler adds in it.
   */
  constructor(
    readonly map: ClusterMap,
    readonly lost: ReadonlySet<number> = new Set(),
    readonly coming: ReadonlySet<number> = new Set(),
  ) {
    this.names = map.nodes.names;
    this.notReady = new Set(map.nodes.notReady);
    this.cordoned = new Set(map.nodes.cordoned);
    const { kinds, namespaces, kind, namespace, name } = map.workloads;
    this.workloads = name.map((name, at) => ({
      kind: kinds[kind[at] ?? -1] ?? "",
      namespace: namespaces[namespace[at] ?? -1] ?? "",
      name,
    }));
    const count = this.workloads.length;
    this.running = new Int32Array(count);
    this.pending = new Int32Array(count);
    this.firstPod = new Int32Array(this.names.length + 1);
    const nodes = map.pods.node;
    const workloads = map.pods.workload;
    let pending = 0;
    let elsewhere = 0;
    nodes.forEach((node, pod) => {
      const workload = workloads[pod] ?? -1;
      const counts = node === PENDING ? this.pending : this.running;
      if (workload >= 0) counts[workload] = (counts[workload] ?? 0) + 1;
      if (node === PENDING) pending += 1;
      else if (node < 0) elsewhere += 1;
      else this.firstPod[node + 1] = (this.firstPod[node + 1] ?? 0) + 1;
    });
    for (let node = 0; node < this.names.length; node += 1)
      this.firstPod[node + 1] = (this.firstPod[node + 1] ?? 0) + (this.firstPod[node] ?? 0);
    this.podWorkload = new Int32Array(nodes.length - pending - elsewhere);
    const next = this.firstPod.slice();
    nodes.forEach((node, pod) => {
      if (node < 0) return;
      const at = next[node] ?? 0;
      this.podWorkload[at] = workloads[pod] ?? -1;
      next[node] = at + 1;
    });
    for (let node = 0; node < this.names.length; node += 1) this.podWorkload.subarray(...this.podsOn(node)).sort();
    this.podCount = nodes.length;
    this.pendingCount = pending;
    this.elsewhereCount = elsewhere;
  }

  /** Return the position of a node; -1 if there is none of that name. */
  positionOf(name: string): number {
    this.positions ??= new Map(this.names.map((found, node) => [found, node]));
    return this.positions.get(name) ?? -1;
  }

  /** Return where a node's pods start in ``podWorkload``, and end. */
  podsOn(node: number): [number, number] {
    return [this.firstPod[node] ?? 0, this.firstPod[node + 1] ?? 0];
  }

  /** Return how many pods a node has. */
  podsIn(node: number): number {
    const [first, end] = this.podsOn(node);
    return end - first;
  }

  /** Return how many pods of a workload a node has. */
  podsOf(workload: number, node: number): number {
    const [first, end] = this.podsOn(node);
    let found = 0;
    for (let pod = first; pod < end; pod += 1) if (this.podWorkload[pod] === workload) found += 1;
    return found;
  }

  /** Return how many pods each workload has on a node, the most first. */
  workloadsOn(node: number): [workload: number, pods: number][] {
    const counts = new Map<number, number>();
    for (const workload of this.podWorkload.subarray(...this.podsOn(node)))
      counts.set(workload, (counts.get(workload) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  /** Return the domains of a topology key by name; nodes without it come last. */
  domains(key: string): Domain[] {
    const column = this.map.nodes.labels[key];
    const found: number[][] = (column?.values ?? []).map(() => []);
    const without: number[] = [];
    for (let node = 0; node < this.names.length; node += 1) {
      const value = column?.of[node] ?? -1;
      (found[value] ?? without).push(node);
    }
    const named = found.map((nodes, value): Domain => ({ name: column?.values[value] ?? "", nodes }));
    const order = new Intl.Collator("en", { numeric: true });
    named.sort((a, b) => order.compare(a.name ?? "", b.name ?? ""));
    return [
      ...named.filter((domain) => domain.nodes.length > 0),
      ...(without.length ? [{ name: null, nodes: without }] : []),
    ];
  }

  /** Return the domain of a node; null where it lacks the key. */
  domainOf(node: number, key: string): string | null {
    const column = this.map.nodes.labels[key];
    const value = column?.of[node] ?? -1;
    return column?.values[value] ?? null;
  }

  /** Return the taints of a node, without that of a cordon. */
  taintsOf(node: number): readonly Taint[] {
    const { values, of } = this.map.nodes.taints;
    return (values[of[node] ?? -1] ?? []).filter((taint) => taint.key !== CORDON);
  }

  /** Return the position of a workload; -1 if there is none. */
  find(key: WorkloadKey | null): number {
    if (key === null) return -1;
    return this.workloads.findIndex(
      (found) => found.name === key.name && found.namespace === key.namespace && found.kind === key.kind,
    );
  }

  /** Return what colors should stand for: namespaces where no workload is large enough to be seen. */
  colorBy(): ColorBy {
    const shown = this.largest(SWATCHES.length).reduce((sum, workload) => sum + (this.running[workload] ?? 0), 0);
    return shown >= LEAST_SHARE * this.podWorkload.length ? "workload" : "namespace";
  }

  /** Return the swatch of each workload: the largest ones, or namespaces, get a color of their own. */
  colors(by: ColorBy): Uint8Array {
    const colors = new Uint8Array(this.workloads.length).fill(OTHER_POSITION);
    if (by === "workload") {
      this.largest(SWATCHES.length).forEach((workload, position) => {
        colors[workload] = position;
      });
      return colors;
    }
    const positions = new Map(
      this.largestNamespaces(SWATCHES.length).map(({ namespace }, position) => [namespace, position]),
    );
    this.workloads.forEach(({ namespace }, workload) => {
      colors[workload] = positions.get(namespace) ?? OTHER_POSITION;
    });
    return colors;
  }

  /** Return the workloads with most pods; DaemonSets, which are never spread, are none of them. */
  largest(most: number): number[] {
    const order = Array.from(this.running.keys()).filter((at) => this.workloads[at]?.kind !== "DaemonSet");
    return order.sort((a, b) => (this.running[b] ?? 0) - (this.running[a] ?? 0) || a - b).slice(0, most);
  }

  /** Return the namespaces with most pods of workloads. */
  largestNamespaces(most: number): { namespace: string; pods: number }[] {
    const pods = new Map<string, number>();
    this.workloads.forEach(({ namespace }, workload) => {
      pods.set(namespace, (pods.get(namespace) ?? 0) + (this.running[workload] ?? 0));
    });
    const order = [...pods].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    return order.slice(0, most).map(([namespace, held]) => ({ namespace, pods: held }));
  }
}
