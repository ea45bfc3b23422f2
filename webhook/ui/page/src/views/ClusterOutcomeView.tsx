/** What a what-if does to the whole cluster: the verdict, the workloads by damage, and the pods that fit nowhere. */
import type { ComponentChildren } from "preact";
import type { ClusterOutcome } from "../api-types";
import type { Cluster } from "../model/cluster";
import { OTHER_POSITION } from "../model/colors";
import { workloadState, type PageState } from "../model/fragment";
import type { Moves } from "../model/moves";
import { damageWords, type Fate } from "../model/scenarios";
import { count, number } from "../model/words";
import { Link } from "../parts/Link";
import { LostVolumes } from "../parts/LostVolumes";
import { NewNodes } from "../parts/NewNodes";
import { SwatchIcon } from "../parts/SwatchIcon";
import { Badge, Fact, Limits, Name, Notice, Title, type Tone } from "../parts/text";

/** Opens a page; absent in a report. */
type Go = ((state: PageState) => void) | null;

/** Workloads that a list has. */
export const MOST_LISTED = 200;
const SIGNS: readonly [survives: boolean | null, tone: Tone][] = [
  [true, "good"],
  [false, "error"],
  [null, "warning"],
];

/** Return how a verdict is shown. */
export function verdictTone({ result }: ClusterOutcome): Tone {
  return SIGNS.find(([survives]) => survives === result.survives)?.[1] ?? "warning";
}

/** The verdict in one sentence, and the numbers. */
export function Verdict({ outcome }: { outcome: ClusterOutcome }) {
  const { impact, result } = outcome;
  const kept = Object.entries(impact.notRecreated);
  return (
    <>
      <Notice tone={verdictTone(outcome)} title={outcome.verdict} testId="cluster-verdict" />
      <dl class="facts" data-testid="cluster-facts">
        {impact.nodes > 0 && <Fact label="Nodes lost" value={impact.nodes} testId="fact-nodes" />}
        {outcome.addedNodes.length > 0 && <Fact label="Nodes added" value={outcome.addedNodes.length} />}
        <Fact label="Pods that lose their node" value={impact.pods} testId="fact-pods" />
        <Fact label="Get another node" value={result.recovered} tone="good" testId="fact-recovered" />
        <Fact label="Fit nowhere" value={result.pending} tone={result.pending ? "error" : "good"} testId="fact-stuck" />
        {result.evicted > 0 && <Fact label="Evicted for others" value={result.evicted} tone="warning" />}
        {result.notTried > 0 && <Fact label="Not scheduled again" value={result.notTried} tone="warning" />}
        {kept.length > 0 && (
          <Fact
            label={`Not replaced: ${kept.map(([what]) => what).join(", ")}`}
            value={kept.reduce((sum, [, pods]) => sum + pods, 0)}
          />
        )}
      </dl>
      {result.autoscaled && <NewNodes lines={result.newNodes} />}
    </>
  );
}

/** The pods that get no node, by workload. */
export function Tray({
  cluster,
  colorOf,
  outcome,
  moves,
  go,
}: {
  cluster: Cluster;
  colorOf: Uint8Array;
  outcome: ClusterOutcome;
  moves: Moves;
  go: Go;
}) {
  if (moves.stuck.length === 0) return null;
  const pods = moves.stuck.reduce((sum, stuck) => sum + stuck.pods, 0);
  const why = new Map(outcome.result.workloads.map((found) => [keyText(found), found.message]));
  return (
    <section class="panel tray" aria-label="Pods that fit nowhere" data-testid="tray">
      <h2>
        {count(pods, "pod")} that {pods === 1 ? "fits" : "fit"} nowhere
      </h2>
      <LostVolumes volumes={outcome.result.workloads.flatMap(({ lostVolumes }) => lostVolumes)} />
      <ul class="plain">
        {moves.stuck.slice(0, MOST_LISTED).map(({ workload, pods: stuck }) => {
          const key = cluster.workloads[workload];
          const message = key ? (why.get(keyText(key)) ?? "") : "";
          return (
            <li key={workload} data-testid="stuck">
              <SwatchIcon position={colorOf[workload] ?? OTHER_POSITION} /> <strong>{number(stuck)}</strong>{" "}
              {key ? <Linked {...key} go={go} /> : "without a controller"}
              {message !== "" && (
                <span class="why">
                  <Name>{message}</Name>
                </span>
              )}
            </li>
          );
        })}
      </ul>
      {moves.stuck.length > MOST_LISTED && (
        <p class="quiet">and {count(moves.stuck.length - MOST_LISTED, "more workload")}</p>
      )}
    </section>
  );
}

function keyText({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind} ${namespace}/${name}`;
}

export function Linked({ go, ...key }: { kind: string; namespace: string; name: string; go: Go }) {
  if (!go) return <Title {...key} />;
  return (
    <Link to={workloadState(key)} go={go}>
      <Title {...key} />
    </Link>
  );
}

/** What becomes of a workload: its damage with a tone. */
export function Damage(fate: Fate) {
  const { text, tone } = damageWords(fate);
  return <Badge tone={tone}>{text}</Badge>;
}

/** The workloads that lose pods, those with the worst damage first, as the server ranks them. */
export function Damaged({ outcome, go, children }: { outcome: ClusterOutcome; go: Go; children?: ComponentChildren }) {
  const { workloads } = outcome.result;
  const hit = workloads.filter(({ damages }) => damages.length > 0).length;
  return (
    <section class="panel" aria-label="Workloads by damage" data-testid="damaged">
      <h2>
        {workloads.length === 0
          ? "No workload loses a pod"
          : `${number(hit)} of ${count(workloads.length, "workload")} that ${workloads.length === 1 ? "loses" : "lose"} pods ${hit === 1 ? "is" : "are"} damaged`}
      </h2>
      {workloads.length > 0 && (
        <div class="scrolled" tabIndex={0} role="group" aria-label="Workloads that lose pods">
          <table class="compact">
            <thead>
              <tr>
                <th scope="col">Workload</th>
                <th scope="col" class="number">
                  Before
                </th>
                <th scope="col" class="number">
                  Right after
                </th>
                <th scope="col" class="number">
                  In the end
                </th>
                <th scope="col">Damage</th>
              </tr>
            </thead>
            <tbody>
              {workloads.slice(0, MOST_LISTED).map((found, at) => (
                <tr key={`${found.kind}/${found.namespace}/${found.name}`} data-testid="damage">
                  <th scope="row">
                    <Linked kind={found.kind} namespace={found.namespace} name={found.name} go={go} />
                  </th>
                  <td class="number">{number(found.runningBefore)}</td>
                  <td class="number">{number(found.runningRightAfter)}</td>
                  <td class="number">{number(found.runningInTheEnd)}</td>
                  <td>
                    <Damage found={found} damage={outcome.damages[at] ?? ""} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {workloads.length > MOST_LISTED && (
        <p class="quiet">and {count(workloads.length - MOST_LISTED, "more workload")}</p>
      )}
      {children}
      <Limits title="What this assumes and leaves out" items={outcome.notes} />
      <Limits title="Not modeled: what else the scheduler looks at" items={outcome.notModeled} />
    </section>
  );
}
