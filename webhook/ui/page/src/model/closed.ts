/** Domains that take no new pod, whatever it is, or none without a toleration. */
import type { Cluster } from "./cluster";
import type { Domain } from "./layout";
import { count } from "./words";

/** A domain that takes nothing, and why. */
export interface ClosedDomain {
  row: number;
  why: string;
}

/** Return the domains of which every node keeps pods off. */
export function closedDomains(cluster: Cluster, domains: readonly Domain[]): ClosedDomain[] {
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
