/** How a workload is spread and where its next pod goes: what `evenkeel explain` answers. */
import type { ComponentChildren } from "preact";
import type { ExplainAnswer, ConstraintStats, SuggestedChange } from "../api-types";
import { violations } from "../model/violations";
import { minimumOf } from "../model/skew";
import { rejectionWords } from "../model/verdicts";
import { count, inline, number, origin, shortKey } from "../model/words";
import { Command } from "../parts/Command";
import { EditedField } from "../parts/EditedField";
import { DomainBars, type DomainCount } from "../parts/DomainBars";
import { Badge, Fact, Guarantees, Limits, Name, Notice } from "../parts/text";

interface Props {
  explain: ExplainAnswer;
  /** Its pods on the nodes; absent in a report, which knows no nodes. */
  map?: ComponentChildren;
  /** The command that finds evictions; absent in a report. */
  evictions?: string;
  /** What comes of what is asked, in place of how the replicas fit beside those that run. */
  outcome?: ComponentChildren;
}

/** What the buttons of a suggestion do; absent in a report. */
interface Buttons {
  /** Applies it to a copy. */
  onApply?: ((change: SuggestedChange) => void) | undefined;
  /** Return what tries a change of the cluster in a what-if, or why nothing does; null for one of the manifest alone. */
  onTry?: ((change: SuggestedChange) => (() => void) | string | null) | undefined;
}

export function SpreadPanel({ explain, map, evictions, outcome, onApply, onTry }: Props & Buttons) {
  return (
    <>
      {outcome}
      <Summary explain={explain} command={evictions ?? null} alone={outcome === undefined} />
      {map}
      <div class="two">
        <div class="stack">
          <Constraints explain={explain} />
        </div>
        <div class="stack">
          <Suggestions explain={explain} onApply={onApply} onTry={onTry} />
          <Refusing explain={explain} />
          <Ranking explain={explain} />
        </div>
      </div>
      <Limits
        title="Not modeled: what else the scheduler looks at"
        items={[...explain.notModeled, ...explain.profile.differences]}
      />
    </>
  );
}

function Summary({
  explain,
  command,
  alone,
}: {
  explain: ExplainAnswer;
  command: string | null;
  /** Whether nothing else says how many replicas run. */
  alone: boolean;
}) {
  const broken = violations(explain);
  const replicas = alone ? explain.replicas : null;
  const bound = explain.atMost ? "at most " : "";
  const missing = replicas && replicas.fitting < replicas.wanted;
  return (
    <section class="summary" aria-label="Summary" data-testid="summary">
      <dl class="facts">
        <Fact
          label="Nodes that take the next pod"
          value={`${bound}${number(explain.feasibleNodes)} of ${number(explain.nodes)}`}
          tone={explain.fits ? "good" : "error"}
          testId="fact-feasible"
        />
        {replicas && (
          <Fact
            label="Replicas with a node"
            value={`${number(replicas.placed)} of ${number(replicas.wanted)}`}
            tone={replicas.placed < replicas.wanted ? "warning" : "good"}
            testId="fact-placed"
          />
        )}
        {replicas && (
          <Fact
            label="Replicas that fit"
            value={`${bound}${number(replicas.fitting)}${replicas.complete ? "" : "+"}`}
            tone={missing ? "error" : "good"}
            testId="fact-fitting"
          />
        )}
        {explain.runningNodes !== null && <Fact label="Nodes that run a pod of it" value={explain.runningNodes} />}
        {explain.revision?.hash && <Fact label="Revision" value={explain.revision.hash} />}
      </dl>
      {broken.length > 0 && (
        <Notice tone="error" title="The pods that run violate maxSkew." testId="violated">
          <ul>
            {broken.map((found) => (
              <li key={found.topologyKey}>
                <Name>{shortKey(found.topologyKey)}</Name>: {number(found.most)} matching{" "}
                {found.most === 1 ? "pod" : "pods"} in{" "}
                {found.fullest === null ? "the fullest domain" : <Name>{found.fullest}</Name>}, {number(found.minimum)}{" "}
                in the emptiest: skew {number(found.skew)}, maxSkew {number(found.maxSkew)}
              </li>
            ))}
          </ul>
          {command !== null && (
            <div>
              The fewest evictions that bring it back: <Command text={command} />
            </div>
          )}
        </Notice>
      )}
      {explain.message !== "" && (
        <Notice tone="error" title="The next pod fits no node.">
          <p>
            <Name>{explain.message}</Name>
          </p>
        </Notice>
      )}
      {alone && explain.replicaMessage !== "" && explain.replicaMessage !== explain.message && (
        <Notice tone="warning" title="Not every replica fits.">
          <p>
            <Name>{explain.replicaMessage}</Name>
          </p>
        </Notice>
      )}
    </section>
  );
}

function Constraints({ explain }: { explain: ExplainAnswer }) {
  return (
    <section aria-label="Constraints in force">
      <h2>Constraints in force</h2>
      {explain.constraints.length === 0 && (
        <Notice tone="note" title="No constraint is in force.">
          {explain.whyNoConstraints}
        </Notice>
      )}
      {explain.constraints.map((constraint, at) => (
        <Constraint key={at} constraint={constraint} at={at} explain={explain} />
      ))}
    </section>
  );
}

function Constraint({ constraint, at, explain }: { constraint: ConstraintStats; at: number; explain: ExplainAnswer }) {
  const { policy, replicas } = explain;
  const hard = constraint.whenUnsatisfiable === "DoNotSchedule";
  const counted = constraint.domains.filter((domain) => domain.counted);
  const counts = Object.fromEntries(counted.map((domain) => [domain.value, domain.matching]));
  const minimum = minimumOf(constraint.skewNow, counts);
  const shown = constraint.domains.map((domain): DomainCount => ({
    name: domain.value,
    pods: domain.matching,
    after: null,
    ...(domain.counted ? {} : { left: "not counted" }),
    takes: domain.feasibleNodes > 0,
    note: domainNote(domain, constraint),
  }));
  const notes = [
    ...(constraint.countsNothing ? ["Its selector can match no pod in this release, so it has no effect."] : []),
    ...(constraint.selfMatch ? [] : ["The pod itself is not selected."]),
    ...(constraint.nodesWithoutKey ? [`${count(constraint.nodesWithoutKey, "node")} without this key.`] : []),
    ...(constraint.nodesLeftOut
      ? [
          `${count(constraint.nodesLeftOut, "node")} with the key not counted: node affinity or taints keep the pod off.`,
        ]
      : []),
    ...(constraint.allDomains
      ? []
      : [
          `${number(shown.length)} of ${count(constraint.domainCount, "domain")} are listed: the worst, then the best.`,
        ]),
  ];
  return (
    <article class="panel constraint" data-testid={`constraint-${at}`}>
      <div class="panel-head">
        <h3>
          <Name>{constraint.topologyKey}</Name>
        </h3>
        <span class="tags">
          <span class="tag">{constraint.whenUnsatisfiable}</span>
          <span class="tag">maxSkew {number(constraint.maxSkew)}</span>
          {constraint.minDomains > 1 && <span class="tag">minDomains {number(constraint.minDomains)}</span>}
        </span>
      </div>
      <p class="quiet">
        <strong class="origin">
          {capitalized(origin(constraint.origin))}
          {constraint.origin === "policy" && policy !== null && (
            <>
              {" "}
              (<Name>{policy}</Name>)
            </>
          )}
          .
        </strong>{" "}
        It counts{" "}
        {constraint.selector === null ? (
          "no pod: it has no selector"
        ) : constraint.selector === "" ? (
          "every pod of the namespace"
        ) : (
          <>
            pods with{" "}
            <code>
              <Name>{constraint.selector}</Name>
            </code>
          </>
        )}
        . {policyWords(constraint)}
      </p>
      <DomainBars
        domains={shown}
        minimum={minimum}
        maxSkew={constraint.maxSkew}
        hard={hard}
        caption={`Pods of each ${shortKey(constraint.topologyKey)}`}
        pending={replicas ? Math.max(0, replicas.wanted - replicas.placed) : 0}
      />
      {notes.length > 0 && (
        <ul class="notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </article>
  );
}

function capitalized(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function policyWords(constraint: ConstraintStats): string {
  const affinity =
    constraint.nodeAffinityPolicy === "Honor"
      ? "nodes that its node affinity allows"
      : "all nodes, whatever its node affinity";
  const taints =
    constraint.nodeTaintsPolicy === "Honor" ? "without taints that it does not tolerate" : "tainted or not";
  return `Its domains are those of ${affinity}, ${taints}.`;
}

function domainNote(domain: ConstraintStats["domains"][number], constraint: ConstraintStats): string {
  const takes = `${count(domain.feasibleNodes, "node")} ${domain.feasibleNodes === 1 ? "takes" : "take"} it`;
  if (!domain.counted) return takes;
  const skew = domain.skew === null ? "" : `, skew ${number(domain.skew)}`;
  if (domain.fits === false) return `refused: skew ${number(domain.skew ?? 0)} > ${number(constraint.maxSkew)}`;
  return domain.feasibleNodes > 0 ? `${takes}${skew}` : `no node takes it${skew}`;
}

function Refusing({ explain }: { explain: ExplainAnswer }) {
  if (explain.rejections.length === 0) return null;
  return (
    <section class="panel" aria-label="Nodes that refuse the pod">
      <h2>Nodes that refuse the next pod</h2>
      <ul class="groups">
        {explain.rejections.map((group, at) => (
          <li key={at}>
            <p>
              <strong>{count(group.nodes, "node")}</strong>{" "}
              <span class="quiet">
                {group.examples.map((name, position) => (
                  <span key={name}>
                    {position > 0 && ", "}
                    <Name>{name}</Name>
                  </span>
                ))}
                {group.nodes > group.examples.length && ", …"}
              </span>
            </p>
            <ul class="reasons">
              {group.rejections.map((rejection, position) => (
                <li key={position}>
                  <span class="plugin">{rejection.plugin}</span>
                  {rejectionWords(rejection, explain.constraints).map((words) => (
                    <span key={words} class="why">
                      <Name>{words}</Name>
                    </span>
                  ))}
                  {rejection.code === "Unschedulable" && <span class="quiet why">Evicting pods could help.</span>}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Ranking({ explain }: { explain: ExplainAnswer }) {
  const { outvoted } = explain;
  const ranked = explain.ranking.some((tier) => tier.score !== null);
  if (!ranked && !outvoted) return null;
  return (
    <section class="panel" aria-label="Preferred nodes">
      <h2>What PodTopologySpread prefers</h2>
      {ranked && (
        <table class="compact">
          <thead>
            <tr>
              <th scope="col" class="number">
                Score
              </th>
              <th scope="col" class="number">
                Points
              </th>
              <th scope="col">Nodes</th>
            </tr>
          </thead>
          <tbody>
            {explain.ranking.map((tier, at) => (
              <tr key={at}>
                <td class="number">{tier.score === null ? "–" : number(tier.score)}</td>
                <td class="number">{tier.points === null ? "–" : number(tier.points)}</td>
                <td>
                  {count(tier.nodes, "node")}{" "}
                  <span class="quiet">
                    <Name>{tier.examples.join(", ")}</Name>
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {outvoted && (
        <Notice tone="warning" title="Other plugins outvote the spread.">
          <p>
            <Name>{outvoted.chosen}</Name> wins over <Name>{outvoted.preferred}</Name> by{" "}
            {count(outvoted.margin, "point")}:{" "}
            {outvoted.plugins.map((found) => `${found.plugin} gives it ${number(found.points)} more`).join(", ")}.
            {outvoted.maxSkew !== null && <> With maxSkew {number(outvoted.maxSkew)} the spread would win.</>}
          </p>
        </Notice>
      )}
    </section>
  );
}

function Suggestions({ explain, onApply, onTry }: { explain: ExplainAnswer } & Buttons) {
  if (explain.changes.length === 0) {
    if (explain.message === "" && explain.replicaMessage === "") return null;
    return (
      <section class="panel">
        <h2>What would help</h2>
        <p>
          {explain.changesComplete
            ? "No change of the manifest or the cluster that was tried makes it fit."
            : "No change was found, but not all were tried."}
        </p>
      </section>
    );
  }
  return (
    <section class="panel" aria-label="Suggestions" data-testid="suggestions">
      <h2>What would help</h2>
      <p class="quiet">
        Each was verified by scheduling with it.{explain.changesComplete ? "" : " Not all promising ones were tried."}
      </p>
      <ol class="suggestions">
        {explain.changes.map((change, at) => (
          <Suggestion key={at} change={change} at={at} onApply={onApply} onTry={onTry} />
        ))}
      </ol>
      {explain.editing !== "" && <p class="quiet">{explain.editing}</p>}
    </section>
  );
}

/** A change that would help, what it gives up, and a button that makes it in a copy. */
export function Suggestion({
  change,
  at,
  survives = null,
  onApply,
  onTry,
}: {
  change: SuggestedChange;
  at: number;
  /** Whether the workload then survives every loss; null where that is not known. */
  survives?: boolean | null;
} & Buttons) {
  const tried = onTry?.(change);
  const gain =
    change.replicasAfter !== null && change.replicasBefore !== null
      ? `${number(change.replicasBefore)} → ${number(change.replicasAfter)} replicas fit`
      : `fits ${count(change.feasibleNodes, "node")}`;
  return (
    <li data-testid={`suggestion-${at}`}>
      <div class="suggestion-what">
        {change.edits.map((edit) => (
          <EditedField key={edit.field} edit={edit} />
        ))}
        {change.elsewhere.map((edit, position) => (
          <p key={position} class="edit">
            In the {shortKey(edit.topologyKey)} constraint, where it is defined: <code>{edit.field}</code>{" "}
            {edit.new === null ? "remove" : <ins>{inline(edit.new)}</ins>}
          </p>
        ))}
        {change.inCluster && (
          <p class="edit">
            In the cluster: <Name>{change.inCluster.text}</Name>
          </p>
        )}
      </div>
      <p class="suggestion-effect">
        <Badge tone={change.enough ? "good" : "note"}>{gain}</Badge>
        {survives !== null && (
          <>
            {" "}
            <Badge tone={survives ? "good" : "warning"}>
              {survives ? "survives every loss then" : "does not survive every loss"}
            </Badge>
          </>
        )}
        {change.caution && (
          <>
            {" "}
            <Badge tone="warning">last resort</Badge>
          </>
        )}
        <span class="quiet"> It gives up: {change.costs.join("; ")}.</span>
      </p>
      <Guarantees guarantees={change.givenUp} />
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
      {typeof tried === "string" && (
        <p class="quiet" data-testid={`no-try-${at}`}>
          {tried}
        </p>
      )}
      {typeof tried === "function" && (
        <button class="primary" data-testid={`try-${at}`} onClick={tried}>
          Try it in a what-if
        </button>
      )}
    </li>
  );
}
