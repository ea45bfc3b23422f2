/** The whole cluster: domains as rows, nodes in them, pods as squares in the color of their workload. */
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { OTHER, OTHER_POSITION, swatch, type Swatch } from "../model/colors";
import { draw, SvgPen } from "../model/draw";
import { workloadState, type ClusterState, type ColorBy, type PageState } from "../model/fragment";
import { layOut, pitchFor } from "../model/layout";
import { count, number, printable, shortKey } from "../model/words";
import { Menu } from "../parts/Menu";
import { fileName, savePng, saveText } from "../parts/save";
import { Empty, Limits, Name, Notice, Title } from "../parts/text";
import { useTheme } from "../parts/theme";
import { WorkloadSearch } from "../parts/WorkloadSearch";
import { ClusterCanvas } from "./ClusterCanvas";
import { NodePanel } from "./NodePanel";
import { NodesTable } from "./NodesTable";

interface Props {
  client: Client;
  cluster: Cluster;
  state: ClusterState;
  go: (state: PageState) => void;
}

export function ClusterView({ client, cluster, state, go }: Props) {
  const keys = cluster.map.topologyKeys;
  const rows = state.rows !== null && keys.includes(state.rows) ? state.rows : (keys[0] ?? "");
  const [width, setWidth] = useState(() => Math.max(280, window.innerWidth - 64));
  const [node, setNode] = useState(-1);
  const [saving, setSaving] = useState<string | null>(null);
  const highlight = cluster.find(state.highlight);
  const theme = useTheme();
  const domains = useMemo(() => cluster.domains(rows), [cluster, rows]);
  const colors = useMemo(() => state.colors ?? cluster.colorBy(), [cluster, state.colors]);
  const colorOf = useMemo(() => cluster.colors(colors), [cluster, colors]);
  const layout = useMemo(() => {
    const podsOf = (at: number): number => {
      const [first, end] = cluster.podsOn(at);
      return end - first;
    };
    return layOut(domains, podsOf, width, pitchFor(cluster.podWorkload.length));
  }, [cluster, domains, width]);
  const resize = useCallback((next: number) => {
    if (next > 0) setWidth(next);
  }, []);
  const pick = (workload: number): void => {
    const key = cluster.workloads[workload];
    go({ ...state, highlight: workload === highlight || !key ? null : key });
  };
  const picture = (): string => {
    const pen = new SvgPen();
    draw({ cluster, layout, theme, colorOf, highlight, cursor: -1 }, pen, 0, layout.height);
    return pen.picture(layout.width, layout.height, theme.surface);
  };
  const save = (kind: "svg" | "png"): void => {
    const name = fileName("cluster", shortKey(rows));
    if (kind === "svg") saveText(`${name}.svg`, "image/svg+xml", picture());
    else
      savePng(`${name}.png`, picture(), layout.width, layout.height).catch((error: unknown) => {
        setSaving(String(error));
      });
  };

  if (cluster.names.length === 0)
    return (
      <Empty title="This cluster has no nodes.">
        Make a snapshot that holds them: evenkeel snapshot, or kubectl get nodes,pods,services,rc,rs,sts,ns,deploy -A -o
        json.
      </Empty>
    );
  return (
    <>
      <div class="toolbar" role="group" aria-label="What the map shows">
        <label class="field">
          <span>Rows</span>
          <select
            data-testid="rows"
            value={rows}
            onChange={(event) => {
              go({ ...state, rows: event.currentTarget.value });
            }}
          >
            {keys.map((key) => (
              <option key={key} value={key}>
                {printable(key)}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Colors</span>
          <select
            data-testid="colors"
            value={colors}
            onChange={(event) => {
              go({ ...state, colors: event.currentTarget.value as ColorBy });
            }}
          >
            <option value="workload">Largest workloads</option>
            <option value="namespace">Namespaces</option>
          </select>
        </label>
        <WorkloadSearch
          workloads={cluster.workloads}
          label="Find a workload"
          onPick={(highlighted) => {
            go({ ...state, highlight: highlighted });
          }}
        />
        <div class="toggle" role="group" aria-label="Show as">
          <button
            aria-pressed={!state.table}
            onClick={() => {
              go({ ...state, table: false });
            }}
          >
            Map
          </button>
          <button
            aria-pressed={state.table}
            data-testid="as-table"
            onClick={() => {
              go({ ...state, table: true });
            }}
          >
            Table
          </button>
        </div>
        <Menu
          label="Save"
          testId="save-map"
          choices={[
            {
              label: "Picture (PNG)",
              act: () => {
                save("png");
              },
            },
            {
              label: "Picture (SVG)",
              act: () => {
                save("svg");
              },
            },
            {
              label: "Data (JSON)",
              act: () => {
                saveText("cluster.json", "application/json", JSON.stringify(cluster.map));
              },
            },
          ]}
        />
      </div>
      {saving !== null && (
        <Notice tone="error" title="The picture could not be saved.">
          {saving}
        </Notice>
      )}
      <Legend cluster={cluster} colors={colors} colorOf={colorOf} highlight={highlight} pick={pick} go={go} />
      <div class={node >= 0 ? "split" : ""}>
        {state.table ? (
          <NodesTable cluster={cluster} domains={domains} rows={rows} onNode={setNode} />
        ) : (
          <ClusterCanvas
            {...{ cluster, layout, colorOf, highlight }}
            rows={rows}
            onWidth={resize}
            onNode={setNode}
            onWorkload={pick}
          />
        )}
        {node >= 0 && (
          <NodePanel
            client={client}
            cluster={cluster}
            node={node}
            rows={rows}
            onClose={() => {
              setNode(-1);
            }}
            go={go}
          />
        )}
      </div>
      <p class="quiet map-hint">
        A square is a pod. Click one to highlight its workload, the space around them to open the node. A dashed outline
        is a node that is cordoned (with a line across), tainted (with a line at a corner) or not ready.
      </p>
      <Limits title="What the map leaves out" items={leftOut(cluster)} />
    </>
  );
}

function leftOut(cluster: Cluster): string[] {
  const { otherKeys, source } = cluster.map;
  return [
    ...source.notes,
    ...(cluster.pendingCount ? [`${count(cluster.pendingCount, "pod")} without a node: see Pending.`] : []),
    ...(cluster.elsewhereCount
      ? [`${count(cluster.elsewhereCount, "pod")} on nodes that are not among the nodes that were read.`]
      : []),
    ...(otherKeys ? [`${count(otherKeys, "label key")} of nodes that are not offered as rows.`] : []),
  ];
}

interface LegendProps {
  cluster: Cluster;
  colors: ColorBy;
  colorOf: Uint8Array;
  highlight: number;
  pick: (workload: number) => void;
  go: (state: PageState) => void;
}

function Legend({ cluster, colors, colorOf, highlight, pick, go }: LegendProps) {
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
        <LargestWorkloads {...{ cluster, colorOf, highlight, pick }} />
      ) : (
        cluster.largestNamespaces(OTHER_POSITION).map(({ namespace, pods }, position) => (
          <span key={namespace} class="legend-item">
            <SwatchIcon swatch={swatch(position)} />
            <Name>{namespace}</Name>
            <span class="quiet">{number(pods)}</span>
          </span>
        ))
      )}
      <span class="legend-item other">
        <SwatchIcon swatch={OTHER} /> all other
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
  cluster,
  colorOf,
  highlight,
  pick,
}: Pick<LegendProps, "cluster" | "colorOf" | "highlight" | "pick">) {
  const named = cluster.largest(OTHER_POSITION).filter((workload) => (cluster.running[workload] ?? 0) > 0);
  const shown = highlight >= 0 && !named.includes(highlight) ? [highlight, ...named] : named;
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
        <SwatchIcon swatch={highlight >= 0 && workload !== highlight ? OTHER : swatch(drawn)} />
        <Name>{repeated ? `${found.namespace}/${found.name}` : found.name}</Name>
        <span class="quiet">{number(cluster.running[workload] ?? 0)}</span>
      </button>
    );
  });
}

function SwatchIcon({ swatch: { color, mark } }: { swatch: Swatch }) {
  return (
    <svg class="swatch" viewBox="0 0 14 14" aria-hidden="true">
      <rect width="14" height="14" rx="2" fill={color} />
      {mark.map(([x1, y1, x2, y2], at) => (
        <line key={at} x1={14 * x1} y1={14 * y1} x2={14 * x2} y2={14 * y2} stroke="#fff" stroke-width="1.6" />
      ))}
    </svg>
  );
}
