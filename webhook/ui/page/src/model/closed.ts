/** Domains that take no new pod, whatever it is, or none without a toleration. */
import type { Cluster } from "./cluster";
import type { Domain } from "./layout";
import { count } from "./words";

/** A domain that takes nothing, and why. */
export interface ClosedDomain {
  topologyKey: string;
  /** Its position among the domains of the key. */
  row: number;
  name: string | null;
  why: string;
}

/**
 * Return the domains of every key of which all nodes keep pods off: those of one key first, and of others what these
 * do not cover. Keys that each node has a value of its own for have no domains to speak of.
 */
export function closedOfAll(cluster: Cluster, first: string): ClosedDomain[] {
  const covered = new Set<number>();
  const others = cluster.map.topologyKeys.filter((key) => key !== first);
  return [first, ...others].flatMap((topologyKey) => {
    const domains = cluster.domains(topologyKey);
    if (topologyKey !== first && domains.every(({ nodes }) => nodes.length < 2)) return [];
    const found = closedDomains(cluster, domains).flatMap(({ row, why }) => {
      const { name, nodes } = domains[row] ?? { name: null, nodes: [] };
      const told = topologyKey !== first && (name === null || nodes.every((node) => covered.has(node)));
      return told ? [] : [{ row, name, why, nodes }];
    });
    for (const { nodes } of found) nodes.forEach((node) => covered.add(node));
    return found.map(({ row, name, why }) => ({ topologyKey, row, name, why }));
  });
}

/** Return the domains of which every node keeps pods off. */
function closedDomains(cluster: Cluster, domains: readonly Domain[]): { row: number; why: string }[] {
  return domains.flatMap(({ nodes }, row) => {
    const notReady = nodes.filter((node) => cluster.notReady.has(node)).length;
    const cordoned = nodes.filter((node) => !cluster.notReady.has(node) && cluster.cordoned.has(node)).length;
    const tainted = nodes.filter(
      (node) => !cluster.notReady.has(node) && !cluster.cordoned.has(node) && isTainted(cluster, node),
    ).length;
    if (nodes.length === 0 || notReady + cordoned + tainted < nodes.length) return [];
    const parts = [
      ...(cordoned ? [`${cordoned} cordoned`] : []),
      ...(notReady ? [`${notReady} not ready`] : []),
      ...(tainted ? [`${tainted} with taints, which only pods that tolerate them pass`] : []),
    ];
    return [{ row, why: `of ${count(nodes.length, "node")} ${parts.join(", ")}` }];
  });
}

function isTainted(cluster: Cluster, node: number): boolean {
  return cluster.taintsOf(node).some(({ effect }) => effect !== "PreferNoSchedule");
}
