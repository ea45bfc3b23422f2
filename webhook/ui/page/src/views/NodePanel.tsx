/** One node: what it is, what is left on it, and its pods. */
import { useEffect, useRef } from "preact/hooks";
import { TAINT_EFFECTS } from "../api-types";
import type { NodeEvent } from "../model/actions";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { workloadState, type PageState } from "../model/fragment";
import { count, number, shortKey } from "../model/words";
import { useRequest } from "../parts/request";
import { Failure, Name, Title, Waiting } from "../parts/text";
import { statesOf } from "./ClusterCanvas";

interface Props {
  /** Lets something happen to nodes in a what-if. */
  onAction: (action: NodeEvent) => void;
  client: Client;
  cluster: Cluster;
  node: number;
  rows: string;
  onClose: () => void;
  go: (state: PageState) => void;
}

const HOSTNAME = "kubernetes.io/hostname";
/** A taint that no pod tolerates by name. */
const TAINT = "evenkeel.dev/what-if";

export function NodePanel({ client, cluster, node, rows, onAction, onClose, go }: Props) {
  const name = cluster.names[node] ?? "";
  const { data, error, loading } = useRequest(name, (signal) => client.node(name, signal));
  const title = useRef<HTMLHeadingElement>(null);
  // Where the focus was, and goes back to.
  const opener = useRef(document.activeElement);
  const close = (): void => {
    onClose();
    const before = opener.current;
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    else document.getElementById("main")?.focus();
  };
  useEffect(() => {
    title.current?.focus();
  }, [node]);
  const states = statesOf(cluster, node);
  const host = cluster.domainOf(node, HOSTNAME);
  const lose: [string, NodeEvent][] =
    host === null ? [] : [["Lose it", { lose: { topologyKey: HOSTNAME, value: host } }]];
  const keys = [...new Set(cluster.taintsOf(node).map(({ key }) => key))];
  const clean: [string, NodeEvent][] =
    keys.length === 0 ? [] : [["New one without taints", { add: { like: name, count: 1, withoutTaints: keys } }]];
  const actions: [string, NodeEvent][] = [
    ...lose,
    ["Drain it", { drain: name }],
    cluster.cordoned.has(node) ? ["Uncordon it", { uncordon: name }] : ["Cordon it", { cordon: name }],
    ["Taint it: NoExecute", { taint: { node: name, key: TAINT, value: "", effect: "NoExecute" } }],
    ["Add one like it", { add: { like: name, count: 1 } }],
    ...clean,
  ];
  return (
    <aside
      class="panel side"
      aria-label="Node"
      data-testid="node-panel"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <div class="panel-head">
        <h2 tabIndex={-1} ref={title}>
          <Name>{name}</Name>
        </h2>
        <button class="quiet-button" aria-label="Close the node" onClick={close}>
          ✕
        </button>
      </div>
      <p class="quiet">
        {shortKey(rows)} <Name>{cluster.domainOf(node, rows) ?? "is missing"}</Name>
        {states.length > 0 && <>; {states.join(", ")}</>}
      </p>
      <WhatIfButtons actions={actions} onAction={onAction} />
      {error && <Failure error={error} />}
      {loading && !data && <Waiting>Reading the node…</Waiting>}
      {data && (
        <>
          {data.taints.length > 0 && (
            <>
              <h3>Taints</h3>
              <ul class="plain">
                {data.taints.map((taint, at) => (
                  <li key={at}>
                    <code>
                      <Name>{`${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`}</Name>
                    </code>{" "}
                    <button
                      class="link"
                      data-testid="act-untaint"
                      onClick={() => {
                        const effect = TAINT_EFFECTS.find((known) => known === taint.effect);
                        onAction({ untaint: { node: name, key: taint.key, ...(effect ? { effect } : {}) } });
                      }}
                    >
                      What if it were removed?
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
          <h3>Requested of what it offers</h3>
          <table class="compact">
            <tbody>
              {Object.entries(data.resources).map(([resource, use]) => (
                <tr key={resource}>
                  <th scope="row">
                    <Name>{resource}</Name>
                  </th>
                  <td class="number">
                    {amount(resource, use.requested)} <span class="quiet">of {amount(resource, use.allocatable)}</span>
                  </td>
                  <td class="meter-cell">
                    <meter
                      min={0}
                      max={Math.max(1, use.allocatable)}
                      high={use.allocatable * 0.9}
                      value={use.requested}
                      aria-label={`${resource} requested`}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <h3>{count(data.pods.length, "pod")}</h3>
          <ul class="pods">
            {data.pods.map((pod) => {
              const workload = cluster.workloads[pod.workload];
              return (
                <li key={`${pod.namespace}/${pod.name}`}>
                  <Name>{`${pod.namespace}/${pod.name}`}</Name>
                  {pod.terminating && <span class="quiet"> is being deleted</span>}
                  {workload && (
                    <button
                      class="link"
                      onClick={() => {
                        go(workloadState(workload));
                      }}
                    >
                      <Title {...workload} />
                    </button>
                  )}
                </li>
              );
            })}
          </ul>
          <details>
            <summary>{count(Object.keys(data.labels).length, "label")}</summary>
            <ul class="plain labels">
              {Object.entries(data.labels).map(([key, value]) => (
                <li key={key}>
                  <code>
                    <Name>{`${key}=${value}`}</Name>
                  </code>
                </li>
              ))}
            </ul>
          </details>
        </>
      )}
    </aside>
  );
}

/** Buttons that let something happen in a what-if; nothing in the cluster changes. */
export function WhatIfButtons({
  actions,
  onAction,
}: {
  actions: readonly (readonly [string, NodeEvent])[];
  onAction: (action: NodeEvent) => void;
}) {
  return (
    <div class="what-if-buttons" role="group" aria-label="What if">
      <span class="quiet">What if?</span>
      {actions.map(([label, action]) => (
        <button
          key={label}
          data-testid={`act-${label.split(" ")[0]?.toLowerCase() ?? ""}`}
          onClick={() => {
            onAction(action);
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Return an amount of a resource as people write it: cores and bytes in their units. */
function amount(resource: string, value: number): string {
  if (resource === "cpu") return number(Math.round(value / 10) / 100);
  if (resource === "memory" || resource.endsWith("storage")) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    let scaled = value;
    for (; scaled >= 1024 && at < units.length - 1; at += 1) scaled /= 1024;
    return `${number(Math.round(scaled * 10) / 10)} ${units[at] ?? ""}`;
  }
  return number(value);
}
