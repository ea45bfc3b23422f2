/** A plan: what a change of manifests does to every workload. */
import { minimumOf } from "../model/skew";
import { count, number, origin, shortKey } from "../model/words";
import { DomainBars } from "../parts/DomainBars";
import { Evicted } from "../parts/Evicted";
import { NewNodes } from "../parts/NewNodes";
import { Badge, Empty, Fact, Limits, Name, Notice, Title, type Tone } from "../parts/text";
import { Findings } from "./LintView";
import type { PlanEntry, PlannedDomains, PlannedRollout, PlanReport } from "../api-types";

const ACTIONS: Record<PlanEntry["action"], { words: string; tone: Tone }> = {
  remove: { words: "removed", tone: "warning" },
  replace: { words: "deleted and created anew", tone: "warning" },
  change: { words: "changed", tone: "note" },
  add: { words: "added", tone: "good" },
};
const OUTCOMES: Record<PlannedRollout["likely"], { words: string; tone: Tone }> = {
  complete: { words: "completes", tone: "good" },
  waitsForDeletion: { words: "leaves old pods until they are deleted", tone: "warning" },
  pending: { words: "ends with pending pods", tone: "error" },
  deadlock: { words: "deadlocks", tone: "error" },
};
const REASONS: Record<PlanReport["notPlanned"][number]["reason"], string> = {
  placeholders: "placeholders are not filled in",
  repeated: "several manifests describe it",
  stopped: "the work was ended before",
};

export function PlanView({ plan }: { plan: PlanReport }) {
  const { summary } = plan;
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
        <Fact label="Pods that stay pending" value={summary.pending} tone={summary.pending ? "error" : "good"} />
        {summary.newNodes > 0 && <Fact label="Nodes that come" value={summary.newNodes} tone="note" />}
        {summary.evicted > 0 && <Fact label="Pods of others evicted" value={summary.evicted} tone="warning" />}
        {summary.evictedPending > 0 && (
          <Fact label="Of those pending at the end" value={summary.evictedPending} tone="error" />
        )}
        <Fact
          label="Rollouts that may deadlock"
          value={summary.deadlocks}
          tone={summary.deadlocks ? "error" : "good"}
        />
        <Fact label="New findings" value={summary.newFindings} tone={summary.newFindings ? "warning" : "good"} />
      </dl>
      <Notice {...verdict(plan)} />
      {plan.placedFirst && (
        <Notice tone="note">
          The cluster has no pods: those of the manifests that are compared with were placed first and count as now.
        </Notice>
      )}
      <Limits
        title="Not planned"
        items={plan.notPlanned.map(
          ({ workload, reason, changed }) => `${workload}: ${REASONS[reason]}${changed ? ", and it changed" : ""}`,
        )}
      />
      <Limits title="Not read" items={plan.skippedSources.map((found) => `${found.file}: ${found.message}`)} />
      {plan.workloads.length === 0 && <Empty title="No workload changes." />}
      <div class="cards">
        {plan.workloads.map((workload, at) => (
          <Workload key={at} workload={workload} />
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
      <Limits title="What may change the course of things and is not planned" items={plan.notLookedAt} />
    </>
  );
}

/** How the plan ends: what was not read is no success. */
function verdict({ summary, skippedSources }: PlanReport): { tone: Tone; title: string } {
  if (summary.failed) return { tone: "error", title: "Not safe to apply as it is." };
  if (summary.incomplete) return { tone: "error", title: "Incomplete, because something was not read." };
  if (skippedSources.length > 0) return { tone: "note", title: "No problem was found in what was read." };
  return { tone: "good", title: "No problem was found in this change." };
}

function Workload({ workload }: { workload: PlanEntry }) {
  const { pods, rollout } = workload;
  const { words, tone } = ACTIONS[workload.action];
  return (
    <article class="panel" data-testid="planned">
      <div class="panel-head">
        <h2>
          <Title {...workload} />
        </h2>
        <Badge tone={tone}>{words}</Badge>
      </div>
      <p class="quiet">
        {(workload.alternative || workload.builds.length > 1) && (
          <>
            Built from <Name>{workload.builds.join(", ") || "the cluster"}</Name>.{" "}
          </>
        )}
        {workload.differences.length > 0 && <>Differs in {workload.differences.join(", ")}. </>}
        {workload.policy !== null && (
          <>
            Constraints by SpreadPolicy <Name>{workload.policy}</Name>.{" "}
          </>
        )}
        {pods.recreated && <>All its pods are taken to be deleted first: its rollout is not simulated. </>}
        {pods.nextOnly && <>Only its next pod was placed: its kind says no number. </>}
      </p>
      <dl class="facts small">
        <Fact label="Pods now" value={pods.now} />
        <Fact label="Wanted" value={pods.wanted} />
        <Fact label="Deleted" value={pods.deleted} />
        <Fact label="Scheduled" value={pods.scheduled} />
        <Fact label="Pending" value={pods.pending} tone={pods.pending ? "error" : "good"} />
        {pods.notTried > 0 && <Fact label="Not tried" value={pods.notTried} tone="warning" />}
      </dl>
      {workload.errors.length > 0 && (
        <Notice tone="error" title="Kubernetes refuses it.">
          <ul>
            {workload.errors.map((error, at) => (
              <li key={at}>
                <code>{error.field}</code>: <Name>{error.message}</Name>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {workload.pending.length > 0 && (
        <Notice tone="error" title={`${count(workload.pending.length, "pod")} pending`}>
          <ul>
            {[...new Set(workload.pending.map((pod) => pod.message))].map((message) => (
              <li key={message}>
                <Name>{message}</Name>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {pods.autoscaled && <NewNodes lines={workload.newNodes} />}
      {rollout && (
        <p>
          <Badge tone={OUTCOMES[rollout.worst].tone}>
            {rollout.kind} {OUTCOMES[rollout.worst].words}
          </Badge>
          <span class="quiet">
            {" "}
            {rollout.strategy}
            {rollout.worst !== rollout.likely && ` (its likely course ${OUTCOMES[rollout.likely].words})`},{" "}
            {count(rollout.steps, "step")}
          </span>
        </p>
      )}
      <Evicted pods={pods.evicted} />
      {workload.domains.map((domains, at) => (
        <Domains key={at} domains={domains} />
      ))}
      <Limits title="Not modeled" items={workload.notModeled} />
    </article>
  );
}

function Domains({ domains }: { domains: PlannedDomains }) {
  const order = new Intl.Collator("en", { numeric: true });
  const names = [...new Set([...Object.keys(domains.now), ...Object.keys(domains.after)])].sort((a, b) =>
    order.compare(a, b),
  );
  return (
    <section class="planned-domains">
      <h3>
        <Name>{shortKey(domains.topologyKey)}</Name>{" "}
        <span class="quiet">
          {domains.whenUnsatisfiable}, maxSkew {number(domains.maxSkew)}, {origin(domains.origin)}; skew{" "}
          {number(domains.skew)}
        </span>
        {domains.new && (
          <>
            {" "}
            <Badge tone="note">
              {domains.changes.length
                ? domains.changes.map(({ field, before, after }) => `${field} ${before} → ${after}`).join(", ")
                : "new constraint"}
            </Badge>
          </>
        )}
        {domains.gone && (
          <>
            {" "}
            <Badge tone="warning">constraint removed</Badge>
          </>
        )}
      </h3>
      <DomainBars
        domains={names.map((name) => ({
          name,
          pods: domains.now[name] ?? 0,
          after: domains.gone ? null : (domains.after[name] ?? 0),
        }))}
        minimum={domains.gone ? minimumOf(domains.skewNow, domains.now) : minimumOf(domains.skew, domains.after)}
        maxSkew={domains.maxSkew}
        hard={domains.whenUnsatisfiable === "DoNotSchedule"}
        caption={`Pods of each ${shortKey(domains.topologyKey)}, now and after`}
        before="Now"
      />
    </section>
  );
}
