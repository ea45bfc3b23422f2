/** The map in text: every domain and every node with its pods. */
import { MOST_NAME } from "../api-types";
import { useMemo, useState } from "preact/hooks";
import type { Cluster } from "../model/cluster";
import type { Domain } from "../model/layout";
import { domainWords, number, shortKey } from "../model/words";
import { Name } from "../parts/text";
import { VirtualRows } from "../parts/VirtualRows";
import { statesOf } from "./ClusterCanvas";

interface Props {
  cluster: Cluster;
  domains: readonly Domain[];
  rows: string;
  onNode: (node: number) => void;
}

const MOST_WORKLOADS = 3;

export function NodesTable({ cluster, domains, rows, onNode }: Props) {
  const [text, setText] = useState("");
  const nodes = useMemo(() => {
    const all = domains.flatMap((domain) => domain.nodes.map((node) => ({ node, domain: domain.name })));
    const wanted = text.toLowerCase();
    return wanted
      ? all.filter(({ node, domain }) => `${cluster.names[node] ?? ""} ${domain ?? ""}`.toLowerCase().includes(wanted))
      : all;
  }, [cluster, domains, text]);
  return (
    <div class="panel">
      <label class="field">
        <span>Filter nodes</span>
        <input
          type="search"
          value={text}
          maxLength={MOST_NAME}
          onInput={(event) => {
            setText(event.currentTarget.value);
          }}
        />
      </label>
      <VirtualRows
        items={nodes}
        height={38}
        label={`Nodes by ${rows}`}
        testId="nodes-table"
        keyOf={({ node }) => String(node)}
        head={
          <>
            <span role="columnheader" class="c-node">
              Node
            </span>
            <span role="columnheader" class="c-domain" title={rows}>
              {shortKey(rows)}
            </span>
            <span role="columnheader" class="c-pods number">
              Pods
            </span>
            <span role="columnheader" class="c-state">
              State
            </span>
            <span role="columnheader" class="c-most">
              Most pods of
            </span>
          </>
        }
        row={({ node, domain }) => {
          const [first, end] = cluster.podsOn(node);
          const on = cluster.workloadsOn(node).slice(0, MOST_WORKLOADS);
          return (
            <>
              <span role="cell" class="c-node">
                <button
                  class="link"
                  onClick={() => {
                    onNode(node);
                  }}
                >
                  <Name>{cluster.names[node] ?? ""}</Name>
                </button>
              </span>
              <span role="cell" class="c-domain">
                <Name>{domainWords(domain)}</Name>
              </span>
              <span role="cell" class="c-pods number">
                {number(end - first)}
              </span>
              <span role="cell" class="c-state">
                {statesOf(cluster, node).join(", ") || "ready"}
              </span>
              <span role="cell" class="c-most quiet">
                {on
                  .map(([workload, pods]) => `${cluster.workloads[workload]?.name ?? "no controller"} ${number(pods)}`)
                  .join(", ")}
              </span>
            </>
          );
        }}
      />
    </div>
  );
}
