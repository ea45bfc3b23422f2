/** One domain of the map: its nodes, what runs there, and what if it were lost. */
import { useEffect, useRef } from "preact/hooks";

import type { NodeEvent } from "../model/actions";
import type { Cluster } from "../model/cluster";
import { workloadState, type PageState } from "../model/fragment";
import type { Domain } from "../model/layout";
import { count, domainWords, number, shortKey } from "../model/words";
import { Link } from "../parts/Link";
import { Name, Title } from "../parts/text";
import { WhatIfButtons } from "./NodePanel";

interface Props {
  cluster: Cluster;
  rows: string;
  domain: Domain;
  onAction: (action: NodeEvent) => void;
  onClose: () => void;
  go: (state: PageState) => void;
}

/** Workloads that are listed. */
const MOST_LISTED = 20;

export function DomainPanel({ cluster, rows, domain, onAction, onClose, go }: Props) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    title.current?.focus();
  }, [domain]);
  const pods = new Map<number, number>();
  let held = 0;
  for (const node of domain.nodes)
    for (const [workload, found] of cluster.workloadsOn(node)) {
      pods.set(workload, (pods.get(workload) ?? 0) + found);
      held += found;
    }
  const workloads = [...pods].filter(([workload]) => workload >= 0).sort((a, b) => b[1] - a[1]);
  const cordoned = domain.nodes.filter((node) => cluster.cordoned.has(node)).length;
  const tainted = domain.nodes.filter((node) => cluster.taintsOf(node).length > 0).length;
  const lose = (unreachable: boolean): NodeEvent => ({
    lose: { topologyKey: rows, value: domain.name ?? "", ...(unreachable ? { unreachable } : {}) },
  });
  return (
    <aside
      class="panel side"
      aria-label="Domain"
      data-testid="domain-panel"
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <div class="panel-head">
        <h2 tabIndex={-1} ref={title}>
          {shortKey(rows)} <Name>{domainWords(domain.name)}</Name>
        </h2>
        <button class="quiet-button" aria-label="Close the domain" onClick={onClose}>
          ✕
        </button>
      </div>
      <p class="quiet">
        {count(domain.nodes.length, "node")}, {count(held, "pod")} of {count(workloads.length, "workload")}
        {cordoned > 0 && `; ${number(cordoned)} cordoned`}
        {tainted > 0 && `; ${number(tainted)} with taints`}
      </p>
      {domain.name !== null && (
        <WhatIfButtons
          actions={[
            ["Lose it", lose(false)],
            ["Unreachable", lose(true)],
          ]}
          onAction={onAction}
        />
      )}
      <h3>Most pods</h3>
      <ul class="pods">
        {workloads.slice(0, MOST_LISTED).map(([workload, found]) => {
          const key = cluster.workloads[workload];
          return (
            key && (
              <li key={workload}>
                <Link to={workloadState(key)} go={go}>
                  <Title {...key} />
                </Link>
                <span class="quiet">
                  {" "}
                  {number(found)} of {number(cluster.running[workload] ?? 0)}
                </span>
              </li>
            )
          );
        })}
      </ul>
      {workloads.length > MOST_LISTED && (
        <p class="quiet">and {count(workloads.length - MOST_LISTED, "more workload")}</p>
      )}
    </aside>
  );
}
