/** What if: other numbers of replicas, lost and new nodes, another constraint; before and after side by side. */
import { useMemo, useState } from "preact/hooks";
import {
  MOST_PODS,
  MOST_ROLLED_OUT,
  type ExplainAnswer,
  type FieldEdit,
  type SimulateAnswer,
  type WorkloadDetail,
} from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import type { PageState, WorkloadState } from "../model/fragment";
import { comparedDomains, currentDomains } from "../model/compared";
import { held, podsAfter, runningPods } from "../model/ownPods";
import { editedRequest, endsOf, whatIfBody, whatIfCommand, type WhatIfRequest } from "../model/whatif";
import { count, number } from "../model/words";
import { Command } from "../parts/Command";
import { NumberInput } from "../parts/NumberInput";
import { useRequest } from "../parts/request";
import { Failure, Name, Notice, Waiting } from "../parts/text";
import { ActionsForm } from "./ActionsForm";
import { ConstraintForm } from "./ConstraintForm";
import { Domains, Outcome, OutcomeFacts } from "./Outcome";
import { nodesAlone, rowsFor, WorkloadMap } from "./WorkloadMap";

interface Props {
  client: Client;
  cluster: Cluster;
  detail: WorkloadDetail;
  explain: ExplainAnswer;
  manifest: string;
  state: WorkloadState;
  change: (part: Partial<WorkloadState>) => void;
  onEdit: (edits: FieldEdit[]) => void;
  go: (state: PageState) => void;
}

/** Milliseconds that the slider waits for a further move. */
const PAUSE = 60;

export function WhatIfPanel({ client, cluster, detail, explain, manifest, state, change, onEdit, go }: Props) {
  const edited = state.edited !== null;
  const { autoscale } = cluster.map;
  const running = detail.inCluster ? (detail.explain?.replicas ?? null) : null;
  // Pods that run are of another revision than an edited copy, which then has none of its own.
  const wanted = explain.replicas;
  const own = edited && running && wanted ? { wanted: wanted.wanted, placed: running.placed } : wanted;
  const [against, setAgainst] = useState<"now" | "original">("now");
  const replaces = edited && detail.rolledOut;
  const request: WhatIfRequest = edited
    ? editedRequest(manifest, state, detail.rolledOut, autoscale)
    : { simulate: whatIfBody(manifest, state, own, autoscale) };
  const original = whatIfBody(detail.manifest, state, running, autoscale);
  const { data, error, loading } = useRequest(
    JSON.stringify(request),
    (signal) =>
      "rollout" in request ? client.rollout(request.rollout, signal) : client.simulate(request.simulate, signal),
    PAUSE,
  );
  const compares = edited && against === "original";
  const other = useRequest(
    compares ? JSON.stringify(original) : null,
    (signal) => client.simulate(original, signal),
    PAUSE,
  );
  const command = whatIfCommand(state, request, cluster.map);
  // What runs is of the constraints in the cluster, whatever a copy says; an answer has it without a bound.
  const current =
    !edited && data ? comparedDomains(data, explain) : detail.explain ? currentDomains(detail.explain) : [];
  return (
    <div class="whatif">
      <Glance answer={data} loading={loading} failed={error !== null} />
      <section class="panel controls" id="controls" aria-label="What happens">
        <h2>What if</h2>
        {own ? (
          <ReplicaSlider now={own} replaces={replaces} state={state} change={change} />
        ) : (
          <p class="quiet">This kind has no number of replicas: its next pod is scheduled.</p>
        )}
        <h3>Nodes</h3>
        <ActionsForm
          cluster={cluster}
          actions={state.actions}
          onChange={(actions) => {
            change({ actions });
          }}
        />
        {autoscale && (
          <label>
            <input
              type="checkbox"
              checked={state.newNodes}
              data-testid="new-nodes"
              onChange={(event) => {
                change({ newNodes: event.currentTarget.checked });
              }}
            />{" "}
            Let the autoscaler add nodes for pending pods (<Name>{autoscale.name}</Name>)
          </label>
        )}
        <details open={state.edited !== null}>
          <summary>Constraint</summary>
          <ConstraintForm kind={state.kind} explain={explain} topologyKeys={cluster.map.topologyKeys} onEdit={onEdit} />
          <button
            class="link"
            onClick={() => {
              change({ tab: "manifest" });
            }}
          >
            Edit the manifest as YAML
          </button>
        </details>
        {(state.actions.length > 0 || state.replicas !== null || state.newNodes) && (
          <button
            class="link"
            data-testid="reset"
            onClick={() => {
              change({ actions: [], replicas: null, newNodes: false });
            }}
          >
            Undo changes of nodes and replicas
          </button>
        )}
      </section>
      <div class={`results ${loading || other.loading ? "stale" : ""}`} aria-busy={loading}>
        {edited && (
          <Notice tone="note">
            {replaces ? (
              "After is how a rolling update of what runs to the copy ends. Rollout shows each step."
            ) : (
              <>
                Replicas of the copy are scheduled as new pods beside those that run: how this kind replaces its pods is
                not simulated. <Name>{explain.editing}</Name>
              </>
            )}
          </Notice>
        )}
        {error && <Failure error={error} />}
        {other.error && <Failure error={other.error} />}
        {data && <AfterMap {...{ cluster, detail, state, go }} answer={data} />}
        <div class="sides">
          <section aria-label="Before" class="side-column" data-testid="before">
            <div class="side-head">
              <h2>{compares ? "Original manifest" : "Now"}</h2>
              {edited && (
                <select
                  aria-label="Compare with"
                  value={against}
                  onChange={(event) => {
                    setAgainst(event.currentTarget.value as "now" | "original");
                  }}
                >
                  <option value="now">Compare with now</option>
                  <option value="original">Compare with the original manifest</option>
                </select>
              )}
            </div>
            {compares ? (
              other.data && (
                <>
                  <OutcomeFacts answer={other.data} />
                  <Outcome answer={other.data} explain={detail.explain} />
                </>
              )
            ) : (
              <>
                {running && (
                  <dl class="facts">
                    <div class="fact">
                      <dt>Replicas with a node</dt>
                      <dd data-testid="now-placed">{number(running.placed)}</dd>
                    </div>
                    <div class="fact">
                      <dt>Missing</dt>
                      <dd>{number(Math.max(0, running.wanted - running.placed))}</dd>
                    </div>
                  </dl>
                )}
                {!running && <p class="quiet">The cluster as it is.</p>}
                <div class="stack">
                  {current.map((domains) => (
                    <Domains
                      key={domains.constraint}
                      domains={domains}
                      after={false}
                      pending={running ? Math.max(0, running.wanted - running.placed) : 0}
                    />
                  ))}
                </div>
              </>
            )}
          </section>
          <section aria-label="After" class="side-column" id="after" data-testid="after">
            <div class="side-head">
              <h2>After</h2>
              {loading && data && <Waiting>Scheduling…</Waiting>}
            </div>
            {!data && !error && <Waiting>Scheduling…</Waiting>}
            {!data && error && <p class="quiet">There is no answer: the reason is above.</p>}
            {data && (
              <>
                {data.rollout && data.rollout.outcome !== data.rollout.likely.outcome && (
                  <Notice tone="warning" title="Its worst course ends otherwise: see Rollout." />
                )}
                <OutcomeFacts answer={data} />
                <Outcome answer={data} explain={explain} />
              </>
            )}
          </section>
        </div>
        <details class="command">
          <summary>The same in a terminal</summary>
          <Command text={command} testId="command" />
          {edited && (
            <p class="quiet">
              Save the edited manifest as edited.yaml first (Save, Manifest)
              {replaces && state.replicas !== null && `, with spec.replicas ${state.replicas}`}.
            </p>
          )}
          {edited && "simulate" in request && request.simulate.applied && (
            <p class="quiet">
              The command adds the replicas of the copy to those that run; the page rolls it out first.
            </p>
          )}
        </details>
      </div>
    </div>
  );
}

/** The pods after it on the nodes, where each of them is known. */
function AfterMap({
  answer,
  cluster,
  detail,
  state,
  go,
}: Pick<Props, "cluster" | "detail" | "state" | "go"> & { answer: SimulateAnswer }) {
  const nodes = useMemo(() => nodesAlone(cluster, answer.whatIf, answer.autoscaled), [cluster, answer]);
  const now = useMemo(() => held(runningPods(detail.pods, 0)), [detail]);
  const pods = useMemo(() => podsAfter(answer, detail.pods), [answer, detail]);
  if (!pods) return null;
  return (
    <WorkloadMap
      cluster={nodes}
      workload={state}
      rows={rowsFor(cluster, answer.domains)}
      beside={now}
      {...{ pods, go }}
    />
  );
}

/** The numbers of the answer on one line, which stays in view on small screens; others have the answer beside it. */
function Glance({ answer, loading, failed }: { answer: SimulateAnswer | null; loading: boolean; failed: boolean }) {
  const ends = answer && endsOf(answer);
  return (
    <p class={`glance ${loading ? "stale" : ""}`} data-testid="glance">
      <strong>After:</strong>
      {ends ? (
        <>
          <span>{count(ends.running, "replica")} with a node</span>
          <span class={ends.pending ? "tone-error" : ""}>{number(ends.pending)} pending</span>
          <Jump to="after">Results</Jump>
        </>
      ) : (
        <span>{failed ? "no answer: the reason is below" : "Scheduling…"}</span>
      )}
      <Jump to="controls">Change</Jump>
    </p>
  );
}

/** A link to a part of this view. */
function Jump({ to, children }: { to: string; children: string }) {
  return (
    <a
      href={`#${to}`}
      onClick={(event) => {
        event.preventDefault();
        document.getElementById(to)?.scrollIntoView();
      }}
    >
      {children}
    </a>
  );
}

function ReplicaSlider({
  now,
  replaces,
  state,
  change,
}: {
  now: { wanted: number; placed: number };
  /** Whether all replicas are made anew. */
  replaces: boolean;
  state: WorkloadState;
  change: Props["change"];
}) {
  const value = state.replicas ?? now.wanted;
  const least = state.actions.length && !replaces ? now.placed : 0;
  const [most, setMost] = useState(() => Math.max(12, 2 * now.wanted, value));
  const pick = (next: number): void => {
    if (next > most) setMost(next);
    change({ replicas: next });
  };
  return (
    <div class="slider">
      <div class="slider-head">
        <label for="replicas">Replicas</label>
        <NumberInput
          aria-label="Number of replicas"
          eager
          least={least}
          most={replaces ? MOST_ROLLED_OUT : MOST_PODS}
          value={Math.max(least, value)}
          testId="replicas-number"
          onPick={pick}
        />
      </div>
      <input
        id="replicas"
        type="range"
        min={least}
        max={most}
        value={Math.max(least, value)}
        data-testid="replicas"
        onInput={(event) => {
          pick(event.currentTarget.valueAsNumber);
        }}
      />
      <p class="quiet">
        {count(now.placed, "replica")} with a node of {number(now.wanted)} wanted.
      </p>
      {least > 0 && value <= least && state.replicas !== null && state.replicas <= least && (
        <Notice tone="note">
          While nodes change, replicas are only added: set the number to {number(least)} or more, or remove the changes
          of nodes to scale down.
        </Notice>
      )}
    </div>
  );
}
