/** Whether workloads survive single losses: each domain's loss with what runs then, and what would help. */
import type { Loss, SurviveAnswer, SurvivingWorkload, WorkloadLoss } from "../api-types";
import { count, number, shortKey } from "../model/words";
import { Evicted, MOST_LISTED } from "../parts/Evicted";
import { LostVolumes } from "../parts/LostVolumes";
import { Badge, DomainName, Fact, Limits, Name, Notice, Title, type Tone } from "../parts/text";
import { Suggestion } from "../views/SpreadPanel";

export function SurviveView({ answer }: { answer: SurviveAnswer }) {
  const { workloads, losses, notJudged, notModeled } = answer;
  return (
    <div class="stack">
      {!answer.complete && (
        <Notice tone="warning" title="It ended early.">
          {number(losses.length)} of {count(answer.domains, "domain")} were tried.
        </Notice>
      )}
      {workloads.map((workload, at) => (
        <Workload key={`${workload.kind}/${workload.namespace}/${workload.name}`} {...{ answer, workload, at }} />
      ))}
      {losses.map((loss) => (
        <Others key={loss.domain} loss={loss} />
      ))}
      <Limits
        title="Not judged"
        items={notJudged.map(({ kind, namespace, name, why }) => `${kind} ${namespace}/${name}: ${why}`)}
      />
      <Limits title="Not modeled: what else the scheduler looks at" items={notModeled} />
      <Limits title="What this assumes" items={assumed(answer)} />
    </div>
  );
}

function assumed({ unreachable, topologyKey, nodesWithoutKey }: SurviveAnswer): string[] {
  return [
    unreachable
      ? "Lost nodes stay in the cluster, tainted as unreachable."
      : "Lost nodes are removed from the cluster. In an outage they may stay in it: try --unreachable.",
    ...(nodesWithoutKey ? [`Never lost, for lack of ${topologyKey}: ${count(nodesWithoutKey, "node")}.`] : []),
  ];
}

const VERDICTS = (survives: boolean | null): { tone: Tone; words: string } =>
  survives === null
    ? { tone: "warning", words: "no verdict" }
    : survives
      ? { tone: "good", words: "survives" }
      : { tone: "error", words: "does not survive" };

function Workload({ answer, workload, at }: { answer: SurviveAnswer; workload: SurvivingWorkload; at: number }) {
  const { tone, words } = VERDICTS(workload.survives);
  const margin = workload.margin === null ? null : `${workload.marginIsLeast ? "≥ " : ""}${number(workload.margin)}`;
  const found = answer.losses.flatMap((loss) => {
    const own = loss.workloads[at];
    return own ? [{ loss, own, withNodes: loss.autoscaled?.running[at] ?? null }] : [];
  });
  const messages = new Set(found.filter(({ own }) => !own.survives).map(({ own }) => own.message || workload.message));
  const scaled = found.some(({ withNodes }) => withNodes !== null);
  return (
    <section class="panel" data-testid="surviving">
      <div class="panel-head">
        <h2>
          <Title {...workload} />
        </h2>
        <Badge tone={tone}>{words}</Badge>
      </div>
      <dl class="facts">
        <Fact label="Replicas" value={workload.replicas} />
        <Fact label="Must run" value={workload.required} />
        <Fact
          label="Run before a loss"
          value={workload.running}
          tone={workload.running < workload.required ? "error" : "good"}
        />
      </dl>
      <p class="quiet">
        {number(workload.used)} running now, {number(workload.placed)} placed here
        {workload.replaced > 0 && `; ${number(workload.replaced)} of other revisions left out`}
        {workload.notTried > 0 && `; ${number(workload.notTried)} not tried`}.
        {margin !== null && ` ${margin} more would fit after the worst of these losses.`}
      </p>
      <table class="compact" data-testid="losses-of">
        <thead>
          <tr>
            <th scope="col">Lost {shortKey(answer.topologyKey)}</th>
            <th scope="col">Nodes</th>
            <th scope="col">Displaced</th>
            <th scope="col">Run then</th>
            {scaled && <th scope="col">With added nodes</th>}
            <th scope="col">Verdict</th>
          </tr>
        </thead>
        <tbody>
          {found.map(({ loss, own, withNodes }) => (
            <tr key={loss.domain} data-testid="loss-of">
              <th scope="row">
                <DomainName>{loss.domain}</DomainName>
              </th>
              <td>{number(loss.nodes)}</td>
              <td>{number(own.displaced)}</td>
              <td>
                {number(own.running)} of {number(workload.required)}
              </td>
              {scaled && <td>{withNodes === null ? "–" : number(withNodes)}</td>}
              <td>
                <LossBadge own={own} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {[...messages]
        .filter((message) => message !== "")
        .map((message) => (
          <Notice key={message} tone="error" title="Why replicas stay pending">
            <p>
              <Name>{message}</Name>
            </p>
          </Notice>
        ))}
      <LostVolumes volumes={[...workload.lostVolumes, ...found.flatMap(({ own }) => own.lostVolumes)]} />
      {workload.changesFor !== null && <Changes workload={workload} />}
    </section>
  );
}

function LossBadge({ own }: { own: WorkloadLoss }) {
  return own.survives ? <Badge tone="good">survives</Badge> : <Badge tone="error">{number(own.missing)} missing</Badge>;
}

function Changes({ workload }: { workload: SurvivingWorkload }) {
  return (
    <>
      <h3>
        What would help if <DomainName>{workload.changesFor ?? ""}</DomainName> is lost
      </h3>
      {workload.changes.length === 0 && <p class="quiet">No change was found that would help.</p>}
      <ul class="suggestions">
        {workload.changes.map((change, at) => (
          <Suggestion key={at} change={change} at={at} survives={change.survives} />
        ))}
      </ul>
      {!workload.changesComplete && <p class="quiet">Not everything that looked promising was tried.</p>}
    </>
  );
}

/** What a loss does to other pods. */
function Others({ loss }: { loss: Loss }) {
  const { otherPods, evicted, domain } = loss;
  const stuck = otherPods?.pendingOf ?? [];
  if (stuck.length === 0 && evicted.length === 0) return null;
  return (
    <section class="panel">
      <h2>
        Other pods, if <DomainName>{domain}</DomainName> is lost
      </h2>
      {otherPods && stuck.length > 0 && (
        <>
          <p>
            {count(otherPods.pending, "pod")} of {number(otherPods.displaced)} that lose their node fit nowhere:
          </p>
          <ul class="plain">
            {stuck.slice(0, MOST_LISTED).map(({ namespace, owner, pods }) => (
              <li key={`${namespace}/${owner}`}>
                {number(pods)} of <Name>{`${namespace}/${owner}`}</Name>
              </li>
            ))}
          </ul>
        </>
      )}
      <Evicted pods={evicted} />
    </section>
  );
}
