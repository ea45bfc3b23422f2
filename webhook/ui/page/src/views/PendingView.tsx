/** Pods without a node, with the reason in words. */
import { useState } from "preact/hooks";
import { MOST_NAME, type PendingGroup, type SuggestedChange } from "../api-types";
import type { Client, RequestError } from "../client";
import { suggestedActions } from "../model/actions";
import type { Cluster } from "../model/cluster";
import { encode, workloadState, type PageState, type WorkloadKey } from "../model/fragment";
import { tablePicture } from "../model/tablePicture";
import { clusterWords, pendingTable } from "../model/viewPictures";
import { count, number, sentence } from "../model/words";
import { Link } from "../parts/Link";
import { asRequestError, useRequest, useSend } from "../parts/request";
import { Badge, Empty, Failure, Limits, Name, Title, Waiting } from "../parts/text";
import { useTheme } from "../parts/theme";
import { SaveView } from "./SaveView";
import { Suggestion } from "./SpreadPanel";

interface Props {
  client: Client;
  cluster: Cluster;
  go: (state: PageState) => void;
}

export function PendingView({ client, cluster, go }: Props) {
  const { data, error } = useRequest("pending", (signal) => client.pending(signal));
  const [text, setText] = useState("");
  const theme = useTheme();
  if (error) return <Failure error={error} />;
  if (!data) return <Waiting>Finding out why pods are pending…</Waiting>;
  if (data.pods === 0) return <None read={cluster.podCount > 0} />;
  const left = [
    ...(data.notKept ? [`${count(data.notKept, "pending pod")}: there are too many to look at each.`] : []),
    ...(data.otherGroups ? [`${count(data.otherGroups, "further workload")} with pending pods.`] : []),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = data.groups.filter((group) => {
    const names = namesOf(group, cluster);
    return words.every((word) => names.includes(word));
  });
  return (
    <>
      <p class="lead">
        {count(data.pods, "pod")} without a node
        {data.groups.length > 1
          ? ` in ${count(data.groups.length, "group")}: what fits no node first, then the largest`
          : ""}
        .
      </p>
      <Limits title="Not looked at" items={left} />
      <SaveView
        client={client}
        title="Pending pods"
        verdict={`${count(data.pods, "pod")} without a node.`}
        state={{ view: "pending" }}
        audit={null}
        picture={(title, about) =>
          tablePicture(title, [...about, clusterWords(cluster)], pendingTable(shown, cluster), theme)
        }
      />
      {data.groups.length > 1 && (
        <div class="toolbar">
          <input
            type="search"
            class="grow"
            aria-label="Filter pending pods"
            placeholder="Filter by workload, namespace or pod"
            maxLength={MOST_NAME}
            spellcheck={false}
            value={text}
            data-testid="filter-pending"
            onInput={(event) => {
              setText(event.currentTarget.value);
            }}
          />
          <span class="quiet" role="status">
            {number(shown.length)} of {count(data.groups.length, "group")}
          </span>
        </div>
      )}
      {shown.length === 0 && <Empty title="No pending pod is left by this filter." />}
      <div class="cards">
        {shown.map((group, at) => (
          <Group key={keyOf(group)} first={at < HELPED} {...{ group, client, cluster, go }} />
        ))}
      </div>
    </>
  );
}

/** Return what identifies a group. */
function keyOf({ namespace, workload, pods }: PendingGroup): string {
  return workload >= 0 ? String(workload) : `${namespace}/${pods[0]?.name ?? ""}`;
}

/** Return what a group is found by. */
function namesOf({ namespace, workload, pods }: PendingGroup, cluster: Cluster): string {
  const key = cluster.workloads[workload];
  const names = pods.map(({ name }) => `${namespace}/${name}`);
  return [key ? `${key.kind} ${key.namespace}/${key.name}` : "", ...names].join(" ").toLowerCase();
}

function None({ read }: { read: boolean }) {
  if (!read) return <Empty title="No pod was read." />;
  return <Empty title="No pod is pending.">Every pod that was read has a node.</Empty>;
}

/** Groups for which the first fix is looked for at once; it takes some 0.2 s each in a large cluster. */
const HELPED = 3;

/** The first change that would help a workload, which is tried in a copy or in a what-if. */
function FirstFix({
  client,
  cluster,
  workload,
  at,
  go,
}: {
  workload: WorkloadKey;
  at: boolean;
} & Props) {
  const [asked, setAsked] = useState(at);
  const { data, error } = useRequest(asked ? encode(workloadState(workload)) : null, (signal) =>
    client.workload(workload, signal),
  );
  const [failed, setFailed] = useState<RequestError | null>(null);
  const send = useSend();
  const apply = ({ edits }: SuggestedChange, manifest: string): void => {
    void send(async (signal) => {
      try {
        const edited = await client.suggest({ manifest, edits }, signal);
        go({ ...workloadState(workload, "what-if"), edited: edited.manifest });
      } catch (failure) {
        if (!signal.aborted) setFailed(asRequestError(failure));
      }
    });
  };
  if (!asked)
    return (
      <button
        onClick={() => {
          setAsked(true);
        }}
      >
        What would help?
      </button>
    );
  if (error ?? failed) return <Failure error={(error ?? failed) as RequestError} />;
  if (!data) return <Waiting>Looking for what would help…</Waiting>;
  const [change] = data.explain?.changes ?? [];
  if (!change) return <p class="quiet">No change was found that would help: see the workload.</p>;
  return (
    <div data-testid="first-fix">
      <h3>What would help</h3>
      <ul class="suggestions">
        <Suggestion
          change={change}
          at={0}
          onApply={(found) => {
            apply(found, data.manifest);
          }}
          onTry={(found) => {
            const actions = suggestedActions(found, cluster);
            if (typeof actions === "string") return actions;
            return actions.length === 0
              ? null
              : () => {
                  go({ ...workloadState(workload, "what-if"), actions });
                };
          }}
        />
      </ul>
    </div>
  );
}

function Group({
  group,
  client,
  cluster,
  first: helped,
  go,
}: Props & {
  group: PendingGroup;
  /** Whether what would help is looked for at once. */
  first: boolean;
}) {
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
      {group.why !== "" && (
        <p>
          <strong>
            <Name>{sentence(group.why)}</Name>
          </strong>
        </p>
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
      {workload && group.feasibleNodes === 0 && <FirstFix {...{ client, cluster, workload, go }} at={helped} />}
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
