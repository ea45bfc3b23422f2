/** What the colors of the map stand for, and the workload that is highlighted. */
import type { Cluster } from "../model/cluster";
import { OTHER_POSITION } from "../model/colors";
import { workloadState, type ColorBy, type PageState } from "../model/fragment";
import type { LegendEntry } from "../model/mapPicture";
import { number, printable } from "../model/words";
import { SwatchIcon } from "../parts/SwatchIcon";
import { Name, Title } from "../parts/text";

/** Return what the colors stand for, in words. */
export function legendOf(
  cluster: Cluster,
  largest: readonly number[],
  colors: ColorBy,
  colorOf: Uint8Array,
  highlight: number,
): LegendEntry[] {
  const named = (workload: number): string => {
    const found = cluster.workloads[workload];
    return found ? `${found.kind} ${found.namespace}/${found.name} ${number(cluster.running[workload] ?? 0)}` : "";
  };
  const position = colorOf[highlight] ?? OTHER_POSITION;
  if (highlight >= 0) return [{ color: position === OTHER_POSITION ? 0 : position, label: named(highlight) }];
  const shown =
    colors === "workload"
      ? largest.map((workload) => ({ color: colorOf[workload] ?? OTHER_POSITION, label: named(workload) }))
      : cluster
          .largestNamespaces(OTHER_POSITION)
          .map(({ namespace, pods }, color) => ({ color, label: `${namespace} ${number(pods)}` }));
  return [...shown, { color: OTHER_POSITION, label: "all other" }];
}

/** Return the workloads that have a color. */
export function largestOf(cluster: Cluster): number[] {
  return cluster.largest(OTHER_POSITION).filter((workload) => (cluster.running[workload] ?? 0) > 0);
}

interface LegendProps {
  /** The workloads that have a color. */
  largest: readonly number[];
  cluster: Cluster;
  colors: ColorBy;
  colorOf: Uint8Array;
  highlight: number;
  pick: (workload: number) => void;
  go: (state: PageState) => void;
}

export function Legend({ largest, cluster, colors, colorOf, highlight, pick, go }: LegendProps) {
  const key = cluster.workloads[highlight];
  return (
    <div
      class="legend"
      role="group"
      aria-label={
        colors === "workload" ? "Colors: the workloads with most pods" : "Colors: the namespaces with most pods"
      }
    >
      {colors === "workload" ? (
        <LargestWorkloads {...{ largest, cluster, colorOf, highlight, pick }} />
      ) : (
        cluster.largestNamespaces(OTHER_POSITION).map(({ namespace, pods }, position) => (
          <span key={namespace} class="legend-item">
            <SwatchIcon position={position} />
            <Name>{namespace}</Name>
            <span class="quiet">{number(pods)}</span>
          </span>
        ))
      )}
      <span class="legend-item other">
        <SwatchIcon position={OTHER_POSITION} /> all other
      </span>
      {key && (
        <span class="legend-picked" role="status">
          <Title {...key} />
          <button
            class="primary"
            data-testid="open-highlighted"
            onClick={() => {
              go(workloadState(key));
            }}
          >
            Open workload
          </button>
          <button
            onClick={() => {
              pick(highlight);
            }}
          >
            Show all
          </button>
        </span>
      )}
    </div>
  );
}

function LargestWorkloads({
  largest,
  cluster,
  colorOf,
  highlight,
  pick,
}: Pick<LegendProps, "largest" | "cluster" | "colorOf" | "highlight" | "pick">) {
  const shown = highlight >= 0 && !largest.includes(highlight) ? [highlight, ...largest] : largest;
  const names = shown.map((workload) => cluster.workloads[workload]?.name);
  return shown.map((workload) => {
    const found = cluster.workloads[workload];
    if (!found) return null;
    const position = colorOf[workload] ?? OTHER_POSITION;
    const drawn = highlight === workload && position === OTHER_POSITION ? 0 : position;
    const repeated = names.filter((name) => name === found.name).length > 1;
    return (
      <button
        key={workload}
        class="legend-item"
        aria-pressed={workload === highlight}
        title={printable(`${found.kind} ${found.namespace}/${found.name}`)}
        onClick={() => {
          pick(workload);
        }}
      >
        <SwatchIcon position={highlight >= 0 && workload !== highlight ? OTHER_POSITION : drawn} />
        <Name>{repeated ? `${found.namespace}/${found.name}` : found.name}</Name>
        <span class="quiet">{number(cluster.running[workload] ?? 0)}</span>
      </button>
    );
  });
}
