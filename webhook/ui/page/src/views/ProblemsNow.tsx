/** What is wrong in the cluster now, each a link to where it is shown: pods that are stuck, risks, closed domains. */
import type { Cluster } from "../model/cluster";
import type { PageState } from "../model/fragment";
import { closedDomains } from "../model/closed";
import type { Domain } from "../model/layout";
import { CHOICES, isChosen } from "../model/risk";
import { count, domainWords, number, shortKey } from "../model/words";
import { Link } from "../parts/Link";
import { Badge, Name } from "../parts/text";
import type { Audit } from "./audit";

interface Props {
  audit: Audit;
  cluster: Cluster;
  rows: string;
  domains: readonly Domain[];
  /** Opens a domain, by its position. */
  onDomain: (row: number) => void;
  go: (state: PageState) => void;
}

/** Domains that are named. */
const MOST_NAMED = 6;

export function ProblemsNow({ audit, cluster, rows, domains, onDomain, go }: Props) {
  const risks = CHOICES.filter(({ choice, severity }) => severity !== "note" && choice !== "without-node")
    .map((found) => ({ ...found, workloads: audit.workloads.filter((one) => isChosen(one, found.choice)).length }))
    .filter(({ workloads }) => workloads > 0);
  const closed = closedDomains(cluster, domains);
  const calm = cluster.pendingCount === 0 && risks.length === 0 && closed.length === 0;
  return (
    <section class="panel problems-now" aria-labelledby="problems-now" data-testid="landing">
      <h2 id="problems-now">What is wrong now</h2>
      <ul class="plain">
        {cluster.pendingCount > 0 && (
          <li>
            <Badge tone="error">stuck</Badge>{" "}
            <Link to={{ view: "pending" }} go={go} testId="landing-stuck">
              {count(cluster.pendingCount, "pod")} without a node
            </Link>
          </li>
        )}
        {risks.map(({ choice, label, severity, workloads }) => (
          <li key={choice}>
            <Badge tone={severity}>{label}</Badge>{" "}
            <Link to={{ view: "workloads", filter: "", risk: choice }} go={go} testId={`landing-${choice}`}>
              {count(workloads, "workload")}
            </Link>
          </li>
        ))}
        {closed.slice(0, MOST_NAMED).map(({ row, why }) => (
          <li key={row}>
            <Badge tone="warning">takes nothing</Badge>{" "}
            <button
              class="link"
              data-testid="landing-closed"
              onClick={() => {
                onDomain(row);
              }}
            >
              {shortKey(rows)} <Name>{domainWords(domains[row]?.name ?? null)}</Name>
            </button>
            <span class="quiet">: {why}</span>
          </li>
        ))}
        {closed.length > MOST_NAMED && (
          <li class="quiet">and {count(closed.length - MOST_NAMED, "more domain")} that take nothing</li>
        )}
      </ul>
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
  );
}
