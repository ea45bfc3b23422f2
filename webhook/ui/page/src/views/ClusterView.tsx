/** The whole cluster: domains as rows, nodes in them, pods as squares in the color of their workload. */
import { useCallback, useMemo, useState } from "preact/hooks";

import type { NodeEvent } from "../model/actions";
import type { Client } from "../client";
import { actionSentence } from "../model/actions";
import type { Cluster } from "../model/cluster";
import { type ClusterState, type ColorBy, type PageState } from "../model/fragment";
import { layOut, pitchFor } from "../model/layout";
import { mapPicture } from "../model/mapPicture";
import { movesOf } from "../model/moves";
import { asSentence } from "../model/outcome";
import type { Picture } from "../model/picture";
import { differenceWords, scenarioName } from "../model/scenarios";
import { tablePicture } from "../model/tablePicture";
import { clusterWords, scenarioTable } from "../model/viewPictures";
import { askOfCluster, whatIfCommand } from "../model/whatif";
import { count, number, printable, shortKey } from "../model/words";
import { Command } from "../parts/Command";
import { Menu } from "../parts/Menu";
import { fileName, saveText } from "../parts/save";
import { Empty, Failure, Limits, Notice } from "../parts/text";
import { useTheme } from "../parts/theme";
import type { Audit } from "./audit";
import { ClusterCanvas } from "./ClusterCanvas";
import { largestOf, Legend, legendOf } from "./ClusterLegend";
import { DisruptionPanel, WHAT_IF } from "./DisruptionPanel";
import { DomainPanel } from "./DomainPanel";
import { NodePanel } from "./NodePanel";
import { NodesTable } from "./NodesTable";
import { OutcomeView, waysOf } from "./OutcomeView";
import { usePlayed } from "./played";
import { ProblemsNow } from "./ProblemsNow";
import { pictureChoices, useSaveView } from "./SaveView";
import { Scenarios } from "./Scenarios";

const AFTERWARDS = "Crossed out: lost. An outlined square has just come to its node; an empty one is where a pod was.";

interface Props {
  audit: Audit;
  client: Client;
  cluster: Cluster;
  state: ClusterState;
  go: (state: PageState, replace?: boolean, stays?: boolean) => void;
}

export function ClusterView({ audit, client, cluster: now, state, go }: Props) {
  const { actions } = state;
  const [cancelled, setCancelled] = useState<string | null>(null);
  const { autoscale } = now.map;
  const asked = actions.length ? askOfCluster(actions, autoscale) : null;
  const shown = usePlayed(client, now, asked, cancelled);
  const keptActions = state.kept?.actions ?? [];
  const kept = usePlayed(client, now, keptActions.length ? askOfCluster(keptActions, autoscale) : null);
  const { key, error, loading } = shown;
  // What is on its way is answered for other actions.
  const played = loading ? null : shown.data;
  const outcome = played?.outcome ?? null;
  const command = asked ? whatIfCommand(asked, null, now.map) : "";
  const happens = actions.map(actionSentence).join(", ");
  const moves = useMemo(() => (played ? movesOf(now, played) : null), [now, played]);
  const cluster = moves?.after ?? now;
  const [row, setRow] = useState(-1);
  const node = state.node === null ? -1 : now.names.indexOf(state.node);
  const setNode = (at: number): void => {
    const name = now.names[at] ?? null;
    if (name !== state.node) go({ ...state, node: name }, false, true);
  };
  const happen = (action: NodeEvent): void => {
    setRow(-1);
    go({ ...state, node: null, actions: [...actions, action] });
    // The button is gone that had the focus.
    document.getElementById(WHAT_IF)?.focus();
  };
  const keys = cluster.map.topologyKeys;
  const rows = state.rows !== null && keys.includes(state.rows) ? state.rows : (keys[0] ?? "");
  const [width, setWidth] = useState(() => Math.max(280, window.innerWidth - 64));
  const view = useSaveView(client);
  const [saving, setSaving] = useState<string | null>(null);
  const highlight = cluster.find(state.highlight);
  const theme = useTheme();
  const domains = useMemo(() => cluster.domains(rows), [cluster, rows]);
  const colors = useMemo(() => state.colors ?? now.colorBy(), [now, state.colors]);
  const colorOf = useMemo(() => now.colors(colors), [now, colors]);
  // Before and after are drawn in the same places, so that what moves is seen to.
  const layout = useMemo(() => {
    const podsOf = (at: number): number => Math.max(cluster.podsIn(at), now.podsIn(at));
    return layOut(domains, podsOf, width, pitchFor(now.podWorkload.length));
  }, [cluster, now, domains, width]);
  const left = useMemo(() => {
    if (!moves) return null;
    return (at: number): number => Math.max(0, now.podsIn(at) - moves.after.podsIn(at));
  }, [moves, now]);
  const resize = useCallback((next: number) => {
    if (next > 0) setWidth(next);
  }, []);
  const pick = (workload: number): void => {
    const key = cluster.workloads[workload];
    go({ ...state, highlight: workload === highlight || !key ? null : key });
  };
  const guarded = (act: (signal: AbortSignal) => Promise<void>): void => {
    act(new AbortController().signal).catch((error: unknown) => {
      setSaving(String(error));
    });
  };
  const mapAsPicture = (): Picture => {
    const about = [
      clusterWords(cluster),
      `${count(cluster.names.length, "node")}, ${count(cluster.podCount, "pod")}, ${number(cluster.pendingCount)} of them without a node`,
    ];
    return mapPicture(
      {
        cluster,
        layout,
        theme,
        colorOf,
        highlight,
        arrived: moves?.arrived ?? now.arrived,
        left,
        flying: [],
        cursor: -1,
      },
      outcome ? `What if: ${happens}` : `Pods by ${rows}`,
      outcome ? [asSentence(outcome.verdict.sentence), ...about, AFTERWARDS] : about,
      legendOf(cluster, largestOf(now), colors, colorOf, highlight),
    );
  };

  const other = kept.data?.outcome;
  const compared =
    outcome && other && state.kept
      ? (): Picture => {
          const names = [scenarioName(state.kept ?? state), scenarioName(state)] as const;
          const about = [
            differenceWords(names, other, outcome),
            `${names[0]}: ${asSentence(other.verdict.sentence)}`,
            `${names[1]}: ${asSentence(outcome.verdict.sentence)}`,
            clusterWords(now),
          ];
          return tablePicture("Two scenarios", about, scenarioTable(names, other, outcome), theme);
        }
      : null;
  const domain = domains[row];
  const open = (at: number): void => {
    // A node that is added in a what-if is none that the server knows.
    if (at < now.names.length) setNode(at);
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
      {actions.length === 0 && (
        <ProblemsNow
          {...{ audit, client, rows, domains, go }}
          outage={state.outage}
          onOutage={(outage) => {
            go({ ...state, outage }, true, true);
          }}
          cluster={now}
          onDomain={(key, at) => {
            setRow(at);
            go({ ...state, rows: key, node: null }, false, key === rows);
          }}
        />
      )}
      <Scenarios {...{ state, shown, kept, go }} />
      <DisruptionPanel
        {...{ actions, outcome, error, loading, state, go }}
        cluster={now}
        cancelled={key !== null && key === cancelled}
        onChange={(changed) => {
          go({ ...state, actions: changed });
        }}
        onCancel={(ended) => {
          setCancelled(ended ? key : null);
        }}
      />
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
              label: "This view (HTML)",
              testId: "save-map-html",
              disabled: !client.served || loading || kept.loading,
              act: () => {
                const title = outcome ? scenarioName(state) : "Cluster";
                const verdict = outcome ? asSentence(outcome.verdict.sentence) : "";
                view.save({ title, action: happens, verdict, command }, state, audit);
              },
            },
            ...pictureChoices(fileName("cluster", shortKey(rows)), mapAsPicture, guarded),
            ...(compared
              ? pictureChoices(fileName("cluster", "scenarios"), compared, guarded).map((choice) => ({
                  ...choice,
                  label: choice.label.replace("Picture", "Both scenarios"),
                  testId: `${choice.testId}-both`,
                }))
              : []),
            {
              label: "Data (JSON)",
              act: () => {
                saveText("cluster.json", "application/json", JSON.stringify(cluster.map));
              },
            },
          ]}
        />
      </div>
      {view.failed && <Failure error={view.failed} />}
      {saving !== null && (
        <Notice tone="error" title="The picture could not be saved.">
          {saving}
        </Notice>
      )}
      <Legend
        largest={largestOf(now)}
        cluster={cluster}
        colors={colors}
        colorOf={colorOf}
        highlight={highlight}
        pick={pick}
        go={go}
      />
      <div class={node >= 0 || domain ? "split" : ""}>
        {state.table ? (
          <NodesTable cluster={cluster} domains={domains} rows={rows} onNode={open} />
        ) : (
          <ClusterCanvas
            {...{ cluster, layout, colorOf, highlight, moves, left, node }}
            rows={rows}
            onWidth={resize}
            onNode={open}
            onRow={(at) => {
              setNode(-1);
              setRow(at);
            }}
            onWorkload={pick}
          />
        )}
        {node < 0 && domain && (
          <DomainPanel
            {...{ cluster, rows, domain, go }}
            onAction={happen}
            onClose={() => {
              setRow(-1);
            }}
          />
        )}
        {node >= 0 && (
          <NodePanel
            client={client}
            cluster={cluster}
            node={node}
            rows={rows}
            onAction={happen}
            onClose={() => {
              setNode(-1);
            }}
            go={go}
          />
        )}
      </div>
      <p class="quiet map-hint">
        A square is a pod. Click one to highlight its workload, the space around them to open the node, the name of a
        row to open the domain. A dashed outline is a node that is cordoned (with a line across), tainted (with a line
        at a corner) or not ready.{moves && ` ${AFTERWARDS}`}
      </p>
      {outcome && (
        <>
          <OutcomeView
            outcome={outcome}
            headed={false}
            ways={waysOf(go, (lost) => ({ ...state, actions: [{ lose: lost }] }))}
          />
          {command !== "" && (
            <div class="command">
              The same in a terminal: <Command text={command} testId="cluster-command" />
            </div>
          )}
        </>
      )}
      <Limits title="What the map leaves out" items={leftOut(now)} />
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
