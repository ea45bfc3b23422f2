/** What is wrong in the cluster now, the worst first, each a link to where it is shown; beside it what would be lost. */
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { START, workloadState, type PageState } from "../model/fragment";
import { closedOfAll } from "../model/closed";
import type { Domain } from "../model/layout";
import { CHOICES, isChosen } from "../model/risk";
import { count, domainWords, number, shortKey } from "../model/words";
import { Link } from "../parts/Link";
import { Badge, Name } from "../parts/text";
import type { Audit } from "./audit";
import { LossesNow } from "./LossesNow";
import { waysOf } from "./OutcomeView";

interface Props {
  audit: Audit;
  client: Client;
  cluster: Cluster;
  rows: string;
  domains: readonly Domain[];
  /** Whether the losses leave nodes in the API. */
  outage: boolean;
  onOutage: (outage: boolean) => void;
  /** Opens a domain of a topology key, by its position. */
  onDomain: (topologyKey: string, row: number) => void;
  go: (state: PageState) => void;
}

/** Domains, and workloads of a risk, that are named. */
const MOST_NAMED = 6;
const MOST_WORKLOADS = 3;

export function ProblemsNow({ audit, client, cluster, rows, domains, outage, onOutage, onDomain, go }: Props) {
  const risks = CHOICES.filter(({ choice, severity }) => severity !== "note" && choice !== "without-node")
    .map((found) => ({ ...found, workloads: audit.workloads.filter((one) => isChosen(one, found.choice)) }))
    .filter(({ workloads }) => workloads.length > 0);
  const closed = closedOfAll(cluster, rows);
  const calm = cluster.pendingCount === 0 && risks.length === 0 && closed.length === 0;
  return (
    <div class="landing" data-testid="landing">
      <section class="panel" aria-labelledby="problems-now">
        <h2 id="problems-now">What is wrong now</h2>
        <ol class="plain">
          {cluster.pendingCount > 0 && (
            <li>
              <Badge tone="error">Stuck</Badge>{" "}
              <Link to={{ view: "pending" }} go={go} testId="landing-stuck">
                {count(cluster.pendingCount, "pod")} without a node
              </Link>
            </li>
          )}
          {risks.map(({ choice, label, severity, workloads }) => (
            <li key={choice}>
              <Badge tone={severity}>{label}</Badge>{" "}
              <Link to={{ view: "workloads", filter: "", risk: choice }} go={go} testId={`landing-${choice}`}>
                {count(workloads.length, "workload")}
              </Link>
              :{" "}
              {workloads.slice(0, MOST_WORKLOADS).map((one, at) => (
                <span key={`${one.kind}/${one.namespace}/${one.name}`}>
                  {at > 0 && ", "}
                  <Link to={workloadState(one)} go={go} testId="landing-workload">
                    <Name>{`${one.namespace}/${one.name}`}</Name>
                  </Link>
                </span>
              ))}
              {workloads.length > MOST_WORKLOADS && ", …"}
            </li>
          ))}
          {closed.slice(0, MOST_NAMED).map(({ topologyKey, row, name, why }) => (
            <li key={`${topologyKey} ${row}`}>
              <Badge tone="warning">Takes nothing</Badge>{" "}
              <button
                class="link"
                data-testid="landing-closed"
                onClick={() => {
                  onDomain(topologyKey, row);
                }}
              >
                {shortKey(topologyKey)} <Name>{domainWords(name)}</Name>
              </button>
              <span class="quiet">: {why}</span>
            </li>
          ))}
          {closed.length > MOST_NAMED && (
            <li class="quiet">and {count(closed.length - MOST_NAMED, "more domain")} that take nothing</li>
          )}
        </ol>
        {calm && audit.done && audit.failed === null && (
          <p>
            <Badge tone="good">
              {audit.audited > 0
                ? `Nothing: no pod waits, and ${count(audit.audited, "workload")} were audited`
                : "No pod waits, and there is no workload to audit"}
            </Badge>
          </p>
        )}
        {!audit.done && (
          <p class="quiet" role="status">
            {number(audit.audited)} of {count(audit.total, "workload")} audited so far…
          </p>
        )}
        {audit.failed !== null && (
          <p>
            <Badge tone="warning">The audit ended early: there may be more.</Badge>
          </p>
        )}
      </section>
      <LossesNow
        {...{ client, cluster, rows, domains, outage, onOutage }}
        ways={waysOf(go, (lost) => ({ ...START, rows, outage, actions: [{ lose: lost }] }))}
      />
    </div>
  );
}
