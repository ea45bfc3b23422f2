/** The outcome of a scenario, in every tab and report the same: verdict, what is left if a domain goes, numbers, help. */
import type { ComponentChildren } from "preact";
import type {
  ConstraintOutcome,
  HelpfulChange,
  LostDomain,
  Outcome,
  Verdict,
  WorkloadOutcome,
  WorkloadRef,
} from "../api-types";
import { workloadState, type PageState } from "../model/fragment";
import { asSentence, CAUSES, changeWords, isSame, nodeWords, stepWords, toneOf, waysWords } from "../model/outcome";
import { minimumOf } from "../model/skew";
import { lossOf } from "../model/whatif";
import { count, number, origin, shortKey } from "../model/words";
import { DomainBars, type DomainCount } from "../parts/DomainBars";
import { EditedField } from "../parts/EditedField";
import { Link } from "../parts/Link";
import { Badge, Name, Notice, Title } from "../parts/text";
import { LossMatrix } from "./LossMatrix";
import { SurvivalRows } from "./SurvivalRows";

/** Where an outcome leads to, and what its suggestions do. */
export interface Ways {
  go: (state: PageState) => void;
  /** The page of a workload, with the loss that it is shown in. */
  ofWorkload: (ref: WorkloadRef, lost: LostDomain | null) => PageState;
  /** The page of the loss of a domain. */
  ofLoss: (lost: LostDomain) => PageState;
  /** Applies a change of the manifest to a copy. */
  onApply?: (change: HelpfulChange) => void;
  /** Return what tries a change of the cluster; null where nothing does. */
  onTry: (change: HelpfulChange) => (() => void) | null;
}

/** Return where an outcome leads to that is about everybody. */
export function waysOf(go: Ways["go"], ofLoss: Ways["ofLoss"]): Ways {
  return {
    go,
    ofLoss,
    ofWorkload: (ref, lost) =>
      lost ? { ...workloadState(ref, "what-if"), actions: [{ lose: lossOf(lost) }] } : workloadState(ref),
    onTry: () => null,
  };
}

interface Props {
  outcome: Outcome;
  /** Null in a report, which leads nowhere. */
  ways: Ways | null;
  /** The workload that it is about; null for everybody. */
  focus?: WorkloadRef | null;
  /** Whether it begins with the verdict, which may stand elsewhere. */
  headed?: boolean;
}

/** Rows of a table at first, and verdicts below the first. */
export const MOST_LISTED = 200;
const MOST_FURTHER = 3;
const MOST_STEPS = 200;

/** All of an outcome, with the pods on the nodes behind its summary. */
export function OutcomeView({ children, ...props }: Props & { children?: ComponentChildren }) {
  return (
    <div class="stack outcome" data-testid="outcome">
      <OutcomeSummary {...props} />
      {children}
      <OutcomeDetails {...props} />
    </div>
  );
}

/** Return the workload that an outcome is about; null for several. */
function aboutOf({ workloads }: Outcome, focus: WorkloadRef | null): WorkloadOutcome | null {
  const found = focus ? workloads.find((one) => isSame(one, focus)) : workloads.length === 1 ? workloads[0] : null;
  return found ?? null;
}

/** The verdict, how many pods run, and what is left if a domain goes. */
export function OutcomeSummary({ outcome, focus = null, headed = true, ways }: Props) {
  const about = aboutOf(outcome, focus);
  return (
    <>
      {headed && <Headline {...{ outcome, about }} />}
      {outcome.outcomes.length > 0 ? (
        <LossMatrix {...{ outcome, ways }} />
      ) : (
        <>
          <Workloads {...{ outcome, about, ways }} />
          {about && <SurvivalRows workload={about} />}
        </>
      )}
    </>
  );
}

/** What is behind it: constraints, budgets, nodes, steps, what would help and what was assumed. */
export function OutcomeDetails({ outcome, focus = null, ways }: Props) {
  const { workloads } = outcome;
  const about = outcome.outcomes.length > 0 ? null : aboutOf(outcome, focus);
  return (
    <>
      <Waiting workloads={workloads} />
      <Nodes outcome={outcome} />
      <Budgets workloads={workloads} />
      {about && <Constraints workload={about} />}
      <Releases workloads={workloads} />
      <Helpful {...{ outcome, ways }} />
      <Steps outcome={outcome} />
      <Basis outcome={outcome} />
    </>
  );
}

/** What becomes of the domains of a workload's constraints. */
function Constraints({ workload }: { workload: WorkloadOutcome }) {
  if (workload.constraints.length === 0) return null;
  return (
    <section class="stack" aria-label="Constraints">
      <h2>Constraints</h2>
      {workload.constraints.map((constraint, at) => (
        <Constraint key={at} {...{ constraint, at }} pending={workload.pending} />
      ))}
    </section>
  );
}

/** Why pods get no node, by reason. */
function Waiting({ workloads }: { workloads: readonly WorkloadOutcome[] }) {
  const reasons = new Map<string, WorkloadOutcome[]>();
  for (const found of workloads) {
    if (found.pending === 0) continue;
    const message = found.verdicts.find((verdict) => verdict.message !== "")?.message ?? "";
    reasons.set(message, [...(reasons.get(message) ?? []), found]);
  }
  if (reasons.size === 0) return null;
  const pods = workloads.reduce((sum, { pending }) => sum + pending, 0);
  return (
    <section class="panel tray" aria-label="Pods that fit nowhere" data-testid="tray">
      <h2>
        {count(pods, "pod")} that {pods === 1 ? "fits" : "fit"} nowhere
      </h2>
      <ul class="plain">
        {[...reasons].map(([message, found]) => (
          <li key={message}>
            {found.slice(0, MOST_LISTED).map((one) => (
              <p key={`${one.kind}/${one.namespace}/${one.name}`} data-testid="stuck">
                <strong>{number(one.pending)}</strong> <Title {...one} />
              </p>
            ))}
            {message !== "" && (
              <span class="why">
                <Name>{message}</Name>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What becomes of one workload, in a report on several. */
export function OfWorkload({ outcome, workload }: { outcome: Outcome; workload: WorkloadOutcome }) {
  const [verdict = outcome.verdict] = workload.verdicts;
  const alone: Outcome = { ...outcome, verdict, workloads: [workload], outcomes: [], branches: null };
  return (
    <>
      <Headline outcome={alone} about={workload} />
      <Workloads outcome={alone} about={workload} ways={null} />
      <SurvivalRows workload={workload} />
      <Budgets workloads={alone.workloads} />
      <Constraints workload={workload} />
    </>
  );
}

/** The end of a report: the nodes, the steps, and what it is built on. */
export function OutcomeEnd({ outcome }: { outcome: Outcome }) {
  return (
    <>
      <Nodes outcome={outcome} />
      <Steps outcome={outcome} />
      <Basis outcome={outcome} />
    </>
  );
}

/** The verdict in one sentence, and what else is to be said of the workload. */
export function Headline({ outcome, about }: { outcome: Outcome; about: WorkloadOutcome | null }) {
  const { verdict } = outcome;
  const further = (about?.verdicts ?? []).filter(
    ({ cause, sentence }) => cause !== "fits" && sentence !== verdict.sentence,
  );
  const ways = waysWords(outcome);
  // Pods that waited before judge nothing, and are nothing that is well.
  const tone = verdict.cause === "fits" && about && about.pending > 0 ? "warning" : toneOf(verdict);
  return (
    <div data-testid="headline">
      <Notice tone={tone} title={asSentence(verdict.sentence)} testId="verdict">
        {verdict.why !== "" && (
          <p>
            <Name>{asSentence(verdict.why)}</Name>
          </p>
        )}
        {verdict.needs.length > 0 && <p>To decide it: {verdict.needs.join(", ")}.</p>}
        {ways !== "" && <p data-testid="ways">{ways}</p>}
        {verdict.message !== "" && <Said message={verdict.message} />}
      </Notice>
      {further.length > 0 && (
        <ul class="plain further">
          {further.slice(0, MOST_FURTHER).map((found) => (
            <li key={found.sentence}>
              <VerdictBadge verdict={found} /> <Name>{asSentence(found.sentence)}</Name>{" "}
              {found.why !== "" && <Name>{asSentence(found.why)}</Name>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The scheduler's or the API server's own words, which are long. */
function Said({ message }: { message: string }) {
  return (
    <details>
      <summary>In Kubernetes' own words</summary>
      <p class="why">
        <Name>{message}</Name>
      </p>
    </details>
  );
}

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  return <Badge tone={toneOf(verdict)}>{CAUSES[verdict.cause]}</Badge>;
}

/** A number of a workload that has a column where any has it. */
const COLUMNS: readonly [name: string, key: keyof WorkloadOutcome, always: boolean][] = [
  ["Wanted", "wanted", true],
  ["Before", "before", true],
  ["Lowest", "lowest", true],
  ["After", "after", true],
  ["Updated", "updated", false],
  ["On new nodes", "onNewNodes", false],
  ["Pending before", "pendingBefore", false],
  ["Pending", "pending", true],
  ["Evicted", "evicted", false],
  ["Not recreated", "notRecreated", false],
  ["Not tried", "notTried", false],
];

function Workloads({ outcome, about, ways }: Pick<Props, "outcome" | "ways"> & { about: WorkloadOutcome | null }) {
  const { others } = outcome;
  // The one that it is about comes before others that are hit.
  const workloads = about ? [about, ...outcome.workloads.filter((found) => found !== about)] : outcome.workloads;
  const columns = COLUMNS.filter(
    ([, key, always]) =>
      always || workloads.some((found) => Number(found[key] ?? 0) > 0 || (key === "updated" && found.updated !== null)),
  );
  const alone = about !== null && workloads.length === 1;
  const lost = outcome.scenario.events.at(-1)?.lose ?? null;
  if (workloads.length === 0)
    return (
      <p class="quiet">No workload loses a pod{others > 0 && `; ${count(others, "workload")} stay as they are`}.</p>
    );
  return (
    <section class="panel" aria-label="Workloads" data-testid="workloads">
      <div class="scrolled" tabIndex={0} role="group" aria-label="Pods of workloads before and after">
        <table class="compact">
          <thead>
            <tr>
              {!alone && <th scope="col">Workload</th>}
              {columns.map(([name]) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
              {!alone && <th scope="col">Verdict</th>}
            </tr>
          </thead>
          <tbody>
            {workloads.slice(0, MOST_LISTED).map((found) => (
              <tr key={`${found.kind}/${found.namespace}/${found.name}`} data-testid="workload-outcome">
                {!alone && (
                  <th scope="row">
                    <Linked {...{ found, lost, ways }} />
                  </th>
                )}
                {columns.map(([name, key]) => (
                  <td key={name} class="number" data-number={key}>
                    {found[key] === null ? "–" : number(Number(found[key]))}
                  </td>
                ))}
                {!alone && <td>{found.verdicts[0] && <VerdictBadge verdict={found.verdicts[0]} />}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {workloads.length > MOST_LISTED && (
        <p class="quiet">and {count(workloads.length - MOST_LISTED, "more workload")}</p>
      )}
      {others > 0 && <p class="quiet">{count(others, "other workload")} stay as they are.</p>}
    </section>
  );
}

/** The name of a workload, which leads to it with the loss that it is shown in. */
export function Linked({ found, lost, ways }: { found: WorkloadRef; lost: LostDomain | null; ways: Ways | null }) {
  if (!ways) return <Title {...found} />;
  return (
    <Link to={ways.ofWorkload(found, lost)} go={ways.go}>
      <Title {...found} />
    </Link>
  );
}

function Nodes({ outcome }: { outcome: Outcome }) {
  const { lost, created, added } = outcome.nodes;
  const lines = nodeWords(outcome);
  const facts = [
    ...(lost.length ? [`${count(lost.length, "node")} lost`] : []),
    ...(created.length ? [`${count(created.length, "node")} added`] : []),
  ];
  return (
    <>
      {facts.length > 0 && <p class="quiet">{facts.join(", ")}.</p>}
      {(lines.length > 0 || outcome.scenario.autoscaler !== null) && (
        <Notice
          tone="note"
          title={added.length > 0 ? "Nodes that would come" : "No node comes: no pod needs one."}
          testId="new-nodes-text"
        >
          {lines.length > 0 && (
            <ul>
              {lines.map((line) => (
                <li key={line}>
                  <Name>{line}</Name>
                </li>
              ))}
            </ul>
          )}
        </Notice>
      )}
    </>
  );
}

/** The budgets that the pods of workloads have, and the evictions that they refuse for good. */
function Budgets({ workloads }: { workloads: readonly WorkloadOutcome[] }) {
  const budgets = workloads.flatMap((found) => found.budgets.map((budget) => ({ ...budget, of: found })));
  if (budgets.length === 0) return null;
  return (
    <section class="panel" aria-label="Disruption budgets" data-testid="budgets">
      <h2>Disruption budgets</h2>
      <table class="compact">
        <thead>
          <tr>
            <th scope="col">Budget</th>
            <th scope="col" class="number">
              Wants ready
            </th>
            <th scope="col" class="number">
              Ready
            </th>
            <th scope="col" class="number">
              May go
            </th>
            <th scope="col">Blocks</th>
          </tr>
        </thead>
        <tbody>
          {budgets.slice(0, MOST_LISTED).map((budget, at) => (
            <tr key={at} data-testid="budget">
              <th scope="row">
                <Name>{`${budget.of.namespace}/${budget.name}`}</Name>
              </th>
              <td class="number">{number(budget.required)}</td>
              <td class="number">{number(budget.running)}</td>
              <td class="number">{number(budget.allowed)}</td>
              <td>{budget.blocks.length > 0 ? <Name>{budget.blocks.join(", ")}</Name> : "nothing"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The domains of one constraint before and after, against maxSkew. */
function Constraint({ constraint, at, pending }: { constraint: ConstraintOutcome; at: number; pending: number }) {
  const { before, after, skewBefore, skew, peak, maxSkew, topologyKey, whenUnsatisfiable } = constraint;
  const order = new Intl.Collator("en", { numeric: true });
  const hard = whenUnsatisfiable === "DoNotSchedule";
  const counts = after ?? before ?? {};
  const shown = Object.keys({ ...before, ...after })
    .sort((a, b) => order.compare(a, b))
    .map((name): DomainCount => ({
      name,
      pods: before?.[name] ?? 0,
      after: after && (after[name] ?? 0),
      ...(after && !(name in after) ? { left: "not counted" } : {}),
    }));
  return (
    <article class="panel" data-testid={`outcome-${at}`}>
      <div class="panel-head">
        <h3 title={topologyKey}>
          <Name>{shortKey(topologyKey)}</Name>
        </h3>
        {skew === null ? (
          <Badge tone="note">not in force any more</Badge>
        ) : (
          <Badge tone={constraint.above ? (hard ? "error" : "warning") : "good"}>
            skew {changeWords(skewBefore, skew)} of {number(maxSkew)}
          </Badge>
        )}
      </div>
      <p class="quiet">
        {whenUnsatisfiable}, {origin(constraint.origin)}
        {peak > Math.max(skew ?? 0, skewBefore ?? 0) && `; at the worst moment skew ${number(peak)}`}
        {constraint.otherDomains > 0 && `; ${count(constraint.otherDomains, "domain")} more`}
      </p>
      <DomainBars
        domains={shown}
        minimum={minimumOf(skew ?? skewBefore ?? 0, counts)}
        {...{ maxSkew, hard, pending }}
        caption={`Pods of each ${shortKey(topologyKey)}, before and after`}
        before="Before"
      />
    </article>
  );
}

const DIFFERENCES: Record<NonNullable<WorkloadOutcome["next"]>["difference"], string> = {
  validity: "refused by one of them",
  nodes: "other nodes take it",
  best: "another node is the best",
  scores: "nodes are scored otherwise",
  constraints: "other constraints",
  message: "another message",
};

/** What another release makes of the next pods. */
function Releases({ workloads }: { workloads: readonly WorkloadOutcome[] }) {
  const found = workloads.flatMap(({ next }) => (next ? [next] : []));
  if (found.length === 0) return null;
  return (
    <section class="panel" aria-label="The next pods in both releases" data-testid="releases">
      <h2>The next pods in both releases</h2>
      <table class="compact">
        <thead>
          <tr>
            <th scope="col">Workload</th>
            <th scope="col">Difference</th>
            <th scope="col" class="number">
              Nodes that take it
            </th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {found.slice(0, MOST_LISTED).map(({ before, after, difference, responsible, ...ref }) => (
            <tr key={`${ref.kind}/${ref.namespace}/${ref.name}`}>
              <th scope="row">
                <Title {...ref} />
              </th>
              <td>{DIFFERENCES[difference]}</td>
              <td class="number">{changeWords(before.feasibleNodes, after.feasibleNodes)}</td>
              <td>
                {responsible.map(({ since, what }) => (
                  <p key={what}>
                    {since}: <Name>{what}</Name>
                  </p>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What would help, each with what the same scenario says with it. */
function Helpful({ outcome, ways }: Pick<Props, "outcome" | "ways">) {
  const { suggestions } = outcome;
  const onApply = ways?.onApply;
  if (suggestions === null || (suggestions.length === 0 && outcome.verdict.value === true)) return null;
  return (
    <section class="panel" aria-label="What would help" data-testid="helpful">
      <h2>What would help</h2>
      {suggestions.length === 0 && <p>No change that was tried makes it better.</p>}
      <ol class="suggestions">
        {suggestions.map((change, at) => {
          const tried = change.edits.length === 0 ? ways?.onTry(change) : null;
          return (
            <li key={at} data-testid={`helpful-${at}`}>
              <div class="suggestion-what">
                {change.text !== "" && (
                  <p class="edit">
                    <Name>{asSentence(change.text)}</Name>
                  </p>
                )}
                {change.edits.map((edit) => (
                  <EditedField key={edit.field} edit={edit} />
                ))}
              </div>
              <p class="suggestion-effect">
                <VerdictBadge verdict={change.verdict} /> <Name>{asSentence(change.verdict.sentence)}</Name>
                {change.caution && (
                  <>
                    {" "}
                    <Badge tone="warning">last resort</Badge>
                  </>
                )}
                {change.cost !== "" && <span class="quiet"> It costs: {change.cost}.</span>}
              </p>
              {onApply && change.edits.length > 0 && (
                <button
                  class="primary"
                  data-testid={`apply-${at}`}
                  onClick={() => {
                    onApply(change);
                  }}
                >
                  Apply to a copy
                </button>
              )}
              {tried && (
                <button class="primary" data-testid={`try-${at}`} onClick={tried}>
                  Try it in a what-if
                </button>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Steps({ outcome }: { outcome: Outcome }) {
  const { steps } = outcome;
  if (steps.length === 0) return null;
  return (
    <details data-testid="steps">
      <summary>{count(steps.length, "step")} in words</summary>
      <ol class="steps">
        {steps.slice(0, MOST_STEPS).map((step, at) => (
          <li key={at}>
            <Name>{stepWords(step)}</Name>
            {step.why !== null && (
              <span class="why">
                <Name>{step.why}</Name>
              </span>
            )}
          </li>
        ))}
      </ol>
      {steps.length > MOST_STEPS && <p class="quiet">and {count(steps.length - MOST_STEPS, "more step")}</p>}
    </details>
  );
}

/** What an outcome is built on: what was assumed, and what was not read or looked at. */
function Basis({ outcome }: { outcome: Outcome }) {
  const { assumed, notModeled, notLookedAt, scenario, complete } = outcome;
  return (
    <>
      {!complete && (
        <Notice tone="warning" title="Not everything was played to its end.">
          The numbers are of what was.
        </Notice>
      )}
      <p class="quiet" data-testid="basis">
        <Name>
          {[
            sentenceOf("Not read", scenario.cluster.unread),
            sentenceOf("Assumed", assumed),
            sentenceOf("Not modeled", notModeled),
            sentenceOf("Not looked at", notLookedAt),
          ].join("")}
        </Name>
      </p>
    </>
  );
}

function sentenceOf(what: string, items: readonly string[]): string {
  return items.length === 0 ? "" : `${what}: ${items.join(", ")}. `;
}
