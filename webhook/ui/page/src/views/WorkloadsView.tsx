/** All workloads by risk, while the audit runs and after. */
import { useMemo } from "preact/hooks";
import type { Client } from "../client";
import { type ListState, type PageState } from "../model/fragment";
import type { Cluster } from "../model/cluster";
import { byRisk, CHOICES, filtered } from "../model/risk";
import { tablePicture } from "../model/tablePicture";
import { clusterWords, workloadTable } from "../model/viewPictures";
import { count, number } from "../model/words";
import { Failure, Notice, Waiting } from "../parts/text";
import { useTheme } from "../parts/theme";
import type { Audit } from "./audit";
import { OpenManifest } from "./OpenManifest";
import { SaveView } from "./SaveView";
import { WorkloadList } from "./WorkloadList";

interface Props {
  client: Client;
  cluster: Cluster;
  audit: Audit;
  state: ListState;
  go: (state: PageState, replace?: boolean) => void;
  /** Opens a manifest of the person's own. */
  onManifest: (text: string) => void;
}

export function WorkloadsView({ client, cluster, audit, state, go, onManifest }: Props) {
  const theme = useTheme();
  const workloads = useMemo(() => byRisk(audit.workloads), [audit.workloads]);
  const troubled = workloads.filter(({ problems }) => problems.length > 0).length;
  const others = audit.unaudited;
  return (
    <>
      {client.served && <OpenManifest onManifest={onManifest} />}
      {audit.failed !== null &&
        (typeof audit.failed === "string" ? (
          <Notice tone="error" title="The audit ended early.">
            {audit.failed}
          </Notice>
        ) : (
          <Failure error={audit.failed} />
        ))}
      {!audit.done && (
        <div class="progress" data-testid="audit-progress">
          <Waiting>
            Auditing: {number(audit.audited)} of {audit.total ? number(audit.total) : "all"} objects
          </Waiting>
          <progress max={Math.max(1, audit.total)} value={audit.audited} aria-label="Audited workloads" />
        </div>
      )}
      {audit.done && (
        <SaveView
          client={client}
          picture={(title, about) => {
            const chosen = CHOICES.find(({ choice }) => choice === state.risk)?.choice ?? null;
            const listed = filtered(workloads, { text: state.filter, risk: chosen });
            const filter = [state.filter, chosen ?? ""].filter(Boolean).join(", ");
            const lines = [...about, ...(filter ? [`Filter: ${filter}`] : []), clusterWords(cluster)];
            return tablePicture(title, lines, workloadTable(listed), theme);
          }}
          title="Workloads"
          verdict={`${number(troubled)} of ${count(audit.workloads.length, "workload")} with a risk.`}
          {...{ state, audit }}
        />
      )}
      {(audit.workloads.length > 0 || audit.done) && (
        <WorkloadList
          workloads={workloads}
          filter={state.filter}
          risk={state.risk}
          onFilter={(filter, risk) => {
            go({ ...state, filter, risk }, true);
          }}
          onOpen={go}
          none="This cluster has no workload that the audit looks at."
        />
      )}
      {audit.failed === null && others > 0 && (
        <p class="quiet">
          {count(others, "workload")} without a known number of replicas (DaemonSets, Jobs and such){" "}
          {others === 1 ? "is" : "are"} not audited: find {others === 1 ? "it" : "them"} in Cluster.
        </p>
      )}
    </>
  );
}
