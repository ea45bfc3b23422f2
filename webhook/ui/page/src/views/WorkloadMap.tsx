/** The pods of one workload on the nodes, as squares; those without a node are ghosts below. */
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Outcome, WorkloadDetail } from "../api-types";
import { Cluster } from "../model/cluster";
import { START, type PageState, type WorkloadKey } from "../model/fragment";
import { layOut, pitchFor, type Domain } from "../model/layout";
import { nodesAfter } from "../model/moves";
import { ownMap } from "../model/ownMap";
import { held, runningPods, type Held, type OwnPods } from "../model/ownPods";
import { count, number, shortKey } from "../model/words";
import { SwatchIcon } from "../parts/SwatchIcon";
import { ClusterCanvas } from "./ClusterCanvas";

interface Props {
  /** The nodes, those that are added or gone in a what-if among them. */
  cluster: Cluster;
  workload: WorkloadKey;
  /** The topology key of the rows. */
  rows: string;
  pods: OwnPods;
  /** The most squares of each node before, or at other steps, so that no node is resized. */
  beside?: Held;
  go: (state: PageState) => void;
}

const HOSTNAME = "kubernetes.io/hostname";

/** Return the rows of a map: the domains of a constraint, where these are not the nodes themselves. */
export function rowsFor(cluster: Cluster, constraints: readonly { topologyKey: string }[]): string {
  const { topologyKeys } = cluster.map;
  const spread = constraints.map(({ topologyKey }) => topologyKey).filter((key) => key !== HOSTNAME);
  return spread.find((key) => topologyKeys.includes(key)) ?? topologyKeys[0] ?? HOSTNAME;
}

/** Return the nodes of a cluster after a what-if, without any pod. */
export function nodesAlone(cluster: Cluster, outcome: Outcome | null): Cluster {
  const after = outcome?.nodes ?? null;
  const first = cluster.names.length + (after?.created.length ?? 0);
  return new Cluster(
    { ...cluster.map, nodes: after ? nodesAfter(cluster, after) : cluster.map.nodes, pods: { node: [], workload: [] } },
    new Set(after?.lost.map((name) => cluster.positionOf(name))),
    new Set(after?.added.map((_, at) => first + at)),
  );
}

/** Nodes up to which those without a pod of the workload are drawn. */
const MOST_EMPTY = 400;
/** Ghosts that are drawn. */
const MOST_GHOSTS = 40;
const NONE: Held = new Map();
/** The swatches of the pods that run or are new, and of those of the old revision. */
const COLORS = Uint8Array.of(0, 1);

export function WorkloadMap({ cluster, workload, rows, pods, beside = NONE, go }: Props) {
  const { kind, namespace, name } = workload;
  const own = useMemo(() => ownMap(cluster, { kind, namespace, name }, pods), [cluster, kind, namespace, name, pods]);
  const [width, setWidth] = useState(600);
  const resize = useCallback((next: number) => {
    if (next > 0) setWidth(next);
  }, []);
  const most = useMemo(() => {
    const found = new Map<number, number>();
    for (const [node, value] of [...held(pods), ...beside]) {
      const at = cluster.positionOf(node);
      found.set(at, Math.max(found.get(at) ?? 0, value));
    }
    return found;
  }, [cluster, pods, beside]);
  const domains = useMemo((): Domain[] => {
    const all = cluster.domains(rows);
    if (cluster.names.length <= MOST_EMPTY) return all;
    return all
      .map((domain) => ({ ...domain, nodes: domain.nodes.filter((node) => most.has(node)) }))
      .filter(({ nodes }) => nodes.length > 0);
  }, [cluster, rows, most]);
  const layout = useMemo(
    () => layOut(domains, (node) => most.get(node) ?? 0, width, pitchFor(cluster.names.length)),
    [domains, most, width, cluster],
  );
  const drawn = layout.order.length;
  const old = pods.pods.some((pod) => pod.old);
  return (
    <section class="own-map" aria-label="Pods on the nodes" data-testid="workload-map">
      <ClusterCanvas
        cluster={own.cluster}
        layout={layout}
        rows={rows}
        colorOf={COLORS}
        highlight={-1}
        node={-1}
        moves={own.motion}
        left={own.left}
        onWidth={resize}
        onNode={(at) => {
          go({ ...START, rows, node: cluster.names[at] ?? null, highlight: { kind, namespace, name } });
        }}
      />
      <p class="quiet own-legend">
        <span>
          <SwatchIcon position={0} /> {old ? "new pods" : "pods"} by {shortKey(rows)}
        </span>
        {old && (
          <span>
            <SwatchIcon position={1} /> old pods
          </span>
        )}
        {own.pending > 0 && (
          <span class="tone-error" data-testid="map-ghosts">
            {Array.from({ length: Math.min(MOST_GHOSTS, own.pending) }, (_, at) => (
              <i key={at} class="ghost" aria-hidden="true" />
            ))}{" "}
            {count(own.pending, "pod")} without a node
          </span>
        )}
        {cluster.coming.size > 0 && <span>dashed: nodes that come</span>}
        {drawn < cluster.names.length && (
          <span>
            {number(drawn)} of {count(cluster.names.length, "node")}: those with a pod of it
          </span>
        )}
      </p>
    </section>
  );
}

/** The pods that run now. */
export function RunningMap({
  cluster,
  workload,
  detail,
  constraints,
  go,
}: Pick<Props, "cluster" | "workload" | "go"> & {
  detail: Pick<WorkloadDetail, "pods" | "explain">;
  constraints: readonly { topologyKey: string }[];
}) {
  const replicas = detail.explain?.replicas;
  const missing = replicas ? replicas.wanted - replicas.placed : 0;
  const nodes = useMemo(() => nodesAlone(cluster, null), [cluster]);
  const pods = useMemo(() => runningPods(detail.pods, missing), [detail.pods, missing]);
  return <WorkloadMap cluster={nodes} rows={rowsFor(cluster, constraints)} {...{ workload, pods, go }} />;
}
