/** What a search finds by name without the server: workloads and nodes. */
import type { Cluster } from "./cluster";
import type { WorkloadKey } from "./fragment";

/** Findings of each kind that are shown: who wants others types more of the name. */
const MOST_SHOWN = 6;

/** The names of a cluster, ready to be searched. */
export class Names {
  private readonly workloads: readonly string[];
  private readonly nodes: readonly string[];

  constructor(private readonly cluster: Cluster) {
    this.workloads = cluster.workloads.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`.toLowerCase());
    this.nodes = cluster.names.map((name) => name.toLowerCase());
  }

  /** Return the workloads that have every word of a text, those of that very name first. */
  workloadsOf(text: string): WorkloadKey[] {
    const wanted = text.trim().toLowerCase();
    return found(this.workloads, text, (name) => name.endsWith(`/${wanted}`)).flatMap(
      (at) => this.cluster.workloads[at] ?? [],
    );
  }

  /** Return the names of nodes that have every word of a text, that very name first. */
  nodesOf(text: string): string[] {
    const wanted = text.trim().toLowerCase();
    return found(this.nodes, text, (name) => name === wanted).flatMap((at) => this.cluster.names[at] ?? []);
  }
}

function found(names: readonly string[], text: string, isExact: (name: string) => boolean): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const [exact, others]: [number[], number[]] = [[], []];
  names.forEach((name, at) => {
    if (others.length >= MOST_SHOWN && !isExact(name)) return;
    if (words.every((word) => name.includes(word))) (isExact(name) ? exact : others).push(at);
  });
  return [...exact, ...others].slice(0, MOST_SHOWN);
}
