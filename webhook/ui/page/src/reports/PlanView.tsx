/** A plan: what a change of manifests does to every workload. */
import { isSame } from "../model/outcome";
import { shortKey } from "../model/words";
import { Badge, Empty, Fact, Limits, Name, Notice, Title, type Tone } from "../parts/text";
import { Headline, OfWorkload, OutcomeEnd } from "../views/OutcomeView";
import { Findings } from "./LintView";
import type { ConstraintChange, Outcome, PlanAnswer, PlannedChange } from "../api-types";

const ACTIONS: Record<PlannedChange["action"], { words: string; tone: Tone }> = {
  remove: { words: "removed", tone: "warning" },
  replace: { words: "deleted and created anew", tone: "warning" },
  change: { words: "changed", tone: "note" },
  add: { words: "added", tone: "good" },
};
const REASONS: Record<PlanAnswer["notPlanned"][number]["reason"], string> = {
  placeholders: "placeholders are not filled in",
  stopped: "the work was ended before",
};

export function PlanView({ plan }: { plan: PlanAnswer }) {
  const { summary, outcome } = plan;
  const parts = [outcome, ...outcome.outcomes];
  const others = parts.flatMap((part) =>
    part.workloads
      .filter((found) => !plan.changes.some((change) => isSame(change, found)))
      .map((workload) => ({ part, workload })),
  );
  return (
    <>
      <p class="lead">
        Compared with <Name>{plan.comparedWith}</Name>.
      </p>
      <dl class="facts" data-testid="plan-summary">
        <Fact label="Added" value={summary.add} />
        <Fact label="Changed" value={summary.change} />
        <Fact label="Replaced" value={summary.replace} />
        <Fact label="Removed" value={summary.remove} />
        <Fact label="Unchanged" value={summary.unchanged} />
        <Fact label="New findings" value={summary.newFindings} tone={summary.newFindings ? "warning" : "good"} />
      </dl>
      <Notice {...verdict(plan)} />
      {plan.placedFirst && (
        <Notice tone="note">
          The cluster has no pods: those of the manifests that are compared with were placed first and count as before.
        </Notice>
      )}
      <Limits
        title="Not planned"
        items={plan.notPlanned.map(
          ({ workload, reason, changed }) => `${workload}: ${REASONS[reason]}${changed ? ", and it changed" : ""}`,
        )}
      />
      <Limits title="Not read" items={plan.skippedSources.map((found) => `${found.file}: ${found.message}`)} />
      {plan.changes.length === 0 ? <Empty title="No workload changes." /> : <Headline outcome={outcome} about={null} />}
      <div class="cards">
        {plan.changes.map((change, at) => (
          <Change key={at} change={change} part={partOf(outcome, change)} />
        ))}
      </div>
      {others.length > 0 && <h2>Other workloads</h2>}
      <div class="cards">
        {others.map(({ part, workload }, at) => (
          <article key={at} class="panel">
            <h2>
              <Title {...workload} />
            </h2>
            <OfWorkload outcome={part} workload={workload} />
          </article>
        ))}
      </div>
      {plan.newFindings.length > 0 && (
        <section class="panel">
          <h2>New findings</h2>
          <Findings findings={plan.newFindings} />
        </section>
      )}
      {plan.raisedFindings.length > 0 && (
        <section class="panel">
          <h2>Findings that are worse than before</h2>
          <Findings findings={plan.raisedFindings} />
        </section>
      )}
      {plan.goneFindings.length > 0 && (
        <section class="panel">
          <h2>Findings that are gone</h2>
          <Findings findings={plan.goneFindings} />
        </section>
      )}
      <OutcomeEnd outcome={outcome} />
    </>
  );
}

/** How the plan ends: what was not read is no success. */
function verdict({ summary, skippedSources }: PlanAnswer): { tone: Tone; title: string } {
  if (summary.failed) return { tone: "error", title: "Not safe to apply as it is." };
  if (summary.incomplete) return { tone: "error", title: "Incomplete, because something was not read." };
  if (skippedSources.length > 0) return { tone: "note", title: "No problem was found in what was read." };
  return { tone: "good", title: "No problem was found in this change." };
}

/** The outcome that a change is in: of one of several builds its own. */
function partOf(outcome: Outcome, { alternative }: PlannedChange): Outcome | undefined {
  return alternative === null ? outcome : outcome.outcomes[alternative];
}

function Change({ change, part }: { change: PlannedChange; part: Outcome | undefined }) {
  const { words, tone } = ACTIONS[change.action];
  const found = part?.workloads.find((workload) => isSame(workload, change));
  return (
    <article class="panel" data-testid="planned">
      <div class="panel-head">
        <h2>
          <Title {...change} />
        </h2>
        <Badge tone={tone}>{words}</Badge>
      </div>
      <p class="quiet">
        {(change.alternative !== null || change.builds.length > 1) && (
          <>
            Built from <Name>{change.builds.join(", ") || "the cluster"}</Name>.{" "}
          </>
        )}
        {change.differences.length > 0 && <>Differs in {change.differences.join(", ")}. </>}
        {change.policy !== null && (
          <>
            Constraints by SpreadPolicy <Name>{change.policy}</Name>.{" "}
          </>
        )}
        {change.constraints.map((constraint, at) => (
          <span key={at}>
            <Name>{shortKey(constraint.topologyKey)}</Name>: {constraintWords(constraint)}.{" "}
          </span>
        ))}
      </p>
      {change.errors.length > 0 && (
        <ul>
          {change.errors.map((error, at) => (
            <li key={at}>
              <code>{error.field}</code>: <Name>{error.message}</Name>
            </li>
          ))}
        </ul>
      )}
      {part && found ? <OfWorkload outcome={part} workload={found} /> : <p>It was not played.</p>}
    </article>
  );
}

function constraintWords({ gone, fields }: ConstraintChange): string {
  if (gone) return "no longer in force";
  return fields.map(({ field, before, after }) => `${field} ${before} → ${after}`).join(", ") || "new";
}
