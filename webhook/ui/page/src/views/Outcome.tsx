/** What a simulation answers: the domains before and after, what stays pending and why, and what happened to other pods. */
import type { DisplacedPod, ExplainAnswer, SimulateAnswer, WhatIf } from "../api-types";
import { comparedDomains, type ComparedDomains } from "../model/compared";
import { minimumOf } from "../model/skew";
import { chancesOf, endsOf, evictedOf, lostVolumesOf, uncountedOf } from "../model/whatif";
import { count, number, origin, shortKey } from "../model/words";
import { Evicted, MOST_LISTED } from "../parts/Evicted";
import { NewNodes } from "../parts/NewNodes";
import { LostVolumes } from "../parts/LostVolumes";
import { DomainBars, type DomainCount } from "../parts/DomainBars";
import { Badge, Fact, Limits, Name, Notice } from "../parts/text";

interface Props {
  answer: SimulateAnswer;
}

/** The numbers of an answer. */
export function OutcomeFacts({ answer }: Props) {
  const ends = endsOf(answer);
  const old = answer.rollout?.kind === "rollout" ? answer.rollout.likely.oldPods : 0;
  const evicted = evictedOf(answer);
  const { whatIf } = answer;
  return (
    <dl class="facts" data-testid="outcome-facts">
      <Fact
        label="Replicas with a node"
        value={ends.running}
        tone={ends.pending ? "warning" : "good"}
        testId="fact-running"
      />
      <Fact label="Pending" value={ends.pending} tone={ends.pending ? "error" : "good"} testId="fact-pending" />
      {old > 0 && <Fact label="Old pods left" value={old} tone="error" />}
      {whatIf && whatIf.lostNodes.length > 0 && <Fact label="Nodes lost" value={whatIf.lostNodes.length} />}
      {whatIf && whatIf.addedNodes.length > 0 && <Fact label="Nodes added" value={whatIf.addedNodes.length} />}
      {whatIf && whatIf.displaced.length > 0 && <Fact label="Pods displaced" value={whatIf.displaced.length} />}
      {answer.autoscaled && (
        <Fact label="Nodes that come" value={answer.autoscaled.nodes.length} testId="fact-new-nodes" />
      )}
      {evicted.length > 0 && <Fact label="Pods evicted" value={evicted.length} tone="warning" />}
    </dl>
  );
}

/** Everything else of an answer. */
export function Outcome({ answer, explain }: Props & { explain: ExplainAnswer | null }) {
  const ends = endsOf(answer);
  const chances = chancesOf(answer);
  const compared = comparedDomains(answer, explain);
  return (
    <div class="stack" data-testid="outcome">
      {compared.map((domains) => (
        <Domains key={domains.constraint} domains={domains} after pending={ends.pending} whatIf={answer.whatIf} />
      ))}
      {explain?.constraints.length === 0 && (
        <p class="quiet">No constraint is in force, so there are no domains to compare.</p>
      )}
      {ends.reasons.map(({ message, pods }) => (
        <Notice
          key={message}
          tone="error"
          title={`${count(pods, "pod")} of it ${pods === 1 ? "stays" : "stay"} pending`}
        >
          <p>
            <Name>{message}</Name>
          </p>
        </Notice>
      ))}
      {answer.autoscaled && <NewNodes lines={answer.newNodes} />}
      <LostVolumes volumes={lostVolumesOf(answer)} />
      {chances.tied > 0 && (
        <Notice tone="note" title="This is one of several ends." testId="chance">
          {count(chances.tied, "pod")} of {number(chances.pods)} had several best nodes, of which the first by name was
          taken; kube-scheduler takes one at random.{" "}
          {answer.rollout ? (
            "The worst course of other choices is in Rollout."
          ) : (
            <>
              <code>evenkeel what-if --runs 100</code> shows how the ends differ.
            </>
          )}
        </Notice>
      )}
      {answer.whatIf && <Displaced whatIf={answer.whatIf} />}
      <Evicted pods={evictedOf(answer)} />
      {!answer.complete && (
        <Notice tone="warning" title="Not all pods were tried.">
          The rest of the answer is of those that were.
        </Notice>
      )}
      {!answer.allDomains && (
        <Notice tone="note" title="Only some constraints are listed.">
          The pods have many different ones.
        </Notice>
      )}
      <Limits title="Not modeled: what else the scheduler looks at" items={answer.notModeled} />
      <Limits title="What may happen in a real cluster meanwhile" items={answer.notLookedAt} />
    </div>
  );
}

/** The domains of one constraint, now or compared. */
export function Domains({
  domains,
  after,
  pending,
  whatIf = null,
}: {
  domains: ComparedDomains;
  after: boolean;
  /** Pods of the workload without a node. */
  pending: number;
  whatIf?: WhatIf | null;
}) {
  const order = new Intl.Collator("en", { numeric: true });
  const names = Object.keys({ ...domains.before, ...(after ? domains.after : {}) }).sort((a, b) => order.compare(a, b));
  const counts = after ? domains.after : domains.before;
  const hard = domains.whenUnsatisfiable === "DoNotSchedule";
  const skew = after ? domains.skew : domains.skewBefore;
  const over = skew > domains.maxSkew;
  const shown = names.map((name): DomainCount => {
    const lost = after && !(name in domains.after);
    return {
      name,
      pods: domains.before[name] ?? 0,
      after: after ? (domains.after[name] ?? 0) : null,
      ...(lost ? { left: whatIf && whatIf.lostNodes.length > 0 ? "gone" : "not counted" } : {}),
    };
  });
  return (
    <article class="panel" data-testid={`outcome-${domains.constraint}`}>
      <div class="panel-head">
        <h3 title={domains.topologyKey}>
          <Name>{shortKey(domains.topologyKey)}</Name>
        </h3>
        {Object.keys(counts).length === 0 ? (
          <Badge tone="note">no domain</Badge>
        ) : (
          <Badge tone={over ? (hard ? "error" : "warning") : "good"}>
            skew {number(skew)} of {number(domains.maxSkew)}
          </Badge>
        )}
      </div>
      <p class="quiet">
        {domains.whenUnsatisfiable}, {origin(domains.origin)}
        {!domains.complete && "; of many domains the worst and the best are listed"}
      </p>
      <DomainBars
        domains={shown}
        minimum={minimumOf(skew, counts)}
        maxSkew={domains.maxSkew}
        hard={hard}
        caption={`Pods of each ${shortKey(domains.topologyKey)}${after ? ", before and after" : ""}`}
        before={after ? "Before" : "Pods"}
        pending={pending}
        beside={[...Object.values(domains.before), ...Object.values(domains.after)]}
      />
      {domains.stages && after && (
        <Stages stages={domains.stages} uncounted={whatIf ? uncountedOf(whatIf, domains.stages) : 0} />
      )}
    </article>
  );
}

function Stages({ stages, uncounted }: { stages: WhatIf["domains"][number]; uncounted: number }) {
  const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);
  return (
    <p class="quiet">
      Counted pods: {number(sum(stages.before))} before, {number(sum(stages.disrupted))} right after it happens,{" "}
      {number(sum(stages.recovered))} once displaced pods are scheduled again.
      {uncounted > 0 && (
        <strong data-testid="uncounted">
          {" "}
          {count(uncounted, "pod")} of these {uncounted === 1 ? "runs" : "run"} on, but no longer{" "}
          {uncounted === 1 ? "counts" : "count"}: nodeTaintsPolicy Honor leaves out nodes that refuse the pod.
        </strong>
      )}
    </p>
  );
}

const OUTCOMES: Record<DisplacedPod["outcome"], string> = {
  recovered: "got a node again",
  pending: "stay pending",
  notRecreated: "are not recreated",
  notTried: "were not scheduled again",
};

function Displaced({ whatIf }: { whatIf: WhatIf }) {
  const others = whatIf.displaced.filter((pod) => !pod.own);
  const outcomes = (Object.keys(OUTCOMES) as DisplacedPod["outcome"][]).map((outcome) => ({
    outcome,
    pods: others.filter((pod) => pod.outcome === outcome),
  }));
  return (
    <section class="panel" aria-label="Other pods" data-testid="displaced">
      <h3>Pods of other workloads</h3>
      {others.length === 0 && <p class="quiet">None loses its node.</p>}
      {!whatIf.podsKnown && (
        <Notice tone="warning" title="Not every displaced pod is known.">
          Those that are not known were not scheduled again.
        </Notice>
      )}
      {outcomes
        .filter(({ pods }) => pods.length > 0)
        .map(({ outcome, pods }) => (
          <details key={outcome} open={outcome === "pending" && pods.length < 10}>
            <summary>
              {count(pods.length, "pod")} {OUTCOMES[outcome]}
            </summary>
            <ul class="pods">
              {pods.slice(0, MOST_LISTED).map((pod) => (
                <li key={`${pod.namespace}/${pod.name}`}>
                  <Name>{`${pod.namespace}/${pod.name}`}</Name>
                  <span class="quiet">
                    {" "}
                    was on <Name>{pod.lostNode}</Name>
                    {pod.node !== undefined && (
                      <>
                        , now on <Name>{pod.node}</Name>
                      </>
                    )}
                  </span>
                  {(pod.message ?? pod.why) !== undefined && (
                    <span class="why">
                      <Name>{pod.message ?? pod.why ?? ""}</Name>
                    </span>
                  )}
                </li>
              ))}
            </ul>
            {pods.length > MOST_LISTED && (
              <p class="quiet">and {number(pods.length - MOST_LISTED)} more, which the JSON has.</p>
            )}
          </details>
        ))}
    </section>
  );
}
