/** Pods without a node, with the reason in words. */
import type { PendingGroup } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { workloadState, type PageState } from "../model/fragment";
import { count, number } from "../model/words";
import { Link } from "../parts/Link";
import { useRequest } from "../parts/request";
import { Badge, Empty, Failure, Limits, Name, Title, Waiting } from "../parts/text";

interface Props {
  client: Client;
  cluster: Cluster;
  go: (state: PageState) => void;
}

export function PendingView({ client, cluster, go }: Props) {
  const { data, error } = useRequest("pending", (signal) => client.pending(signal));
  if (error) return <Failure error={error} />;
  if (!data) return <Waiting>Finding out why pods are pending…</Waiting>;
  if (data.pods === 0) return <None read={cluster.podCount > 0} />;
  const left = [
    ...(data.notKept ? [`${count(data.notKept, "pending pod")}: there are too many to look at each.`] : []),
    ...(data.otherGroups ? [`${count(data.otherGroups, "further workload")} with pending pods.`] : []),
  ];
  return (
    <>
      <p class="lead">
        {count(data.pods, "pod")} without a node
        {data.groups.length > 1 ? ` in ${count(data.groups.length, "group")}, the largest first` : ""}.
      </p>
      <Limits title="Not looked at" items={left} />
      <div class="cards">
        {data.groups.map((group, at) => (
          <Group key={at} group={group} cluster={cluster} go={go} />
        ))}
      </div>
    </>
  );
}

function None({ read }: { read: boolean }) {
  if (!read) return <Empty title="No pod was read." />;
  return <Empty title="No pod is pending.">Every pod that was read has a node.</Empty>;
}

function Group({ group, cluster, go }: { group: PendingGroup; cluster: Cluster; go: (state: PageState) => void }) {
  const workload = cluster.workloads[group.workload];
  const [first] = group.pods;
  const pod = first ? { kind: "Pod", namespace: group.namespace, name: first.name } : null;
  const target = workload ?? pod;
  return (
    <article class="panel spaced" data-testid="pending-group">
      <div class="panel-head">
        <h2>
          {target && (
            <Link to={workloadState(target)} go={go}>
              <Title {...target} />
            </Link>
          )}
        </h2>
        <Badge tone="error">{count(group.count, "pending pod")}</Badge>
      </div>
      {group.feasibleNodes !== null && group.feasibleNodes > 0 && (
        <p class="quiet">
          In this model it fits {count(group.feasibleNodes, "node")} now: the scheduler may only not have tried again,
          or waits for something that is not modeled.
        </p>
      )}
      {group.reasons.length > 0 && (
        <ul class="reasons marked">
          {group.reasons.map((reason) => (
            <li key={reason.text}>
              <strong>{count(reason.nodes, "node")}</strong>: <Name>{reason.text}</Name>
            </li>
          ))}
        </ul>
      )}
      {group.message !== "" && (
        <p>
          <span class="quiet">Evenkeel expects: </span>
          <Name>{group.message}</Name>
        </p>
      )}
      {group.problems.map((problem, at) => (
        <p key={at}>
          Not evaluated: {problem.field !== "" && <code>{problem.field}: </code>}
          <Name>{problem.message}</Name>
        </p>
      ))}
      {first && first.condition !== "" && first.condition !== group.message && (
        <p>
          <span class="quiet">kube-scheduler's message: </span>
          <Name>{first.condition}</Name>
        </p>
      )}
      <details>
        <summary>
          {group.count > group.pods.length
            ? `First ${number(group.pods.length)} pods`
            : count(group.pods.length, "pod")}
        </summary>
        <ul class="pods">
          {group.pods.map((found) => (
            <li key={found.name}>
              <Name>{found.name}</Name>
              {found.createdAt !== "" && <span class="quiet"> created {found.createdAt}</span>}
            </li>
          ))}
        </ul>
      </details>
    </article>
  );
}
