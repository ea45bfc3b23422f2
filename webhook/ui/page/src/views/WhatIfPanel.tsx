/** What if: other numbers of replicas, lost and new nodes, another constraint; and what comes of it. */
import { useMemo, useState } from "preact/hooks";
import {
  MOST_ROLLED_OUT,
  type ExplainAnswer,
  type FieldEdit,
  type PlayedWhatIf,
  type WorkloadDetail,
} from "../api-types";
import type { Cluster } from "../model/cluster";
import type { PageState, WorkloadState } from "../model/fragment";
import { asSentence, isSame, toneOf } from "../model/outcome";
import { held, podsAfter, runningPods } from "../model/ownPods";
import { count, number } from "../model/words";
import { Command } from "../parts/Command";
import { NumberInput } from "../parts/NumberInput";
import { Failure, Name, Waiting } from "../parts/text";
import { ActionsForm } from "./ActionsForm";
import { ConstraintForm } from "./ConstraintForm";
import { OutcomeView, type Ways } from "./OutcomeView";
import type { Played } from "./played";
import { nodesAlone, rowsFor, WorkloadMap } from "./WorkloadMap";
import { NotInFile } from "./WorkloadView";

interface Props {
  cluster: Cluster;
  detail: WorkloadDetail;
  explain: ExplainAnswer;
  state: WorkloadState;
  played: Played;
  /** The command that answers the same; empty where nothing is asked. */
  command: string;
  ways: Ways;
  change: (part: Partial<WorkloadState>) => void;
  onEdit: (edits: FieldEdit[]) => void;
  go: (state: PageState) => void;
}

export function WhatIfPanel({ cluster, detail, explain, state, played, command, ways, change, onEdit, go }: Props) {
  const { data, error, loading } = played;
  const { autoscale } = cluster.map;
  return (
    <div class="whatif">
      <Glance {...{ played }} />
      <section class="panel controls" id="controls" aria-label="What happens">
        <h2>What if</h2>
        {explain.replicas ? (
          <ReplicaSlider now={explain.replicas} state={state} change={change} />
        ) : (
          <p class="quiet">This kind has no number of replicas.</p>
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
      <div class={`results ${loading ? "stale" : ""}`} aria-busy={loading} id="after">
        {error && <Failure error={error} />}
        {!data && !error && (loading ? <Waiting>Scheduling…</Waiting> : <NotInFile />)}
        {data && (
          <OutcomeView outcome={data.outcome} focus={state} ways={ways}>
            <AfterMap {...{ cluster, detail, state, go }} answer={data} />
          </OutcomeView>
        )}
        {command !== "" && (
          <details class="command">
            <summary>The same in a terminal</summary>
            <Command text={command} testId="command" />
            {state.edited !== null && (
              <p class="quiet">Save the edited manifest as edited.yaml first (Save, Manifest).</p>
            )}
          </details>
        )}
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
}: Pick<Props, "cluster" | "detail" | "state" | "go"> & { answer: PlayedWhatIf }) {
  const nodes = useMemo(() => nodesAlone(cluster, answer.outcome), [cluster, answer]);
  const now = useMemo(() => held(runningPods(detail.pods, 0)), [detail]);
  const about = answer.outcome.workloads.find((found) => isSame(found, state));
  const pods = useMemo(() => about && podsAfter(answer, detail.pods, about.after), [answer, detail, about]);
  if (!about || !pods) return null;
  return (
    <WorkloadMap
      cluster={nodes}
      workload={state}
      rows={rowsFor(cluster, about.constraints)}
      beside={now}
      {...{ pods, go }}
    />
  );
}

/** The verdict on one line, which stays in view on small screens; others have the answer beside it. */
function Glance({ played: { data, loading, error } }: { played: Played }) {
  return (
    <p class={`glance ${loading ? "stale" : ""}`} data-testid="glance">
      {data ? (
        <span class={`tone-${toneOf(data.outcome.verdict)}`}>
          <Name>{asSentence(data.outcome.verdict.sentence)}</Name>
        </span>
      ) : (
        <span>{error ? "no answer: the reason is below" : "Scheduling…"}</span>
      )}
      <Jump to="after">Results</Jump>
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
  state,
  change,
}: {
  now: { wanted: number; placed: number };
  state: WorkloadState;
  change: Props["change"];
}) {
  const value = state.replicas ?? now.wanted;
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
          least={0}
          most={MOST_ROLLED_OUT}
          value={value}
          testId="replicas-number"
          onPick={pick}
        />
      </div>
      <input
        id="replicas"
        type="range"
        min={0}
        max={most}
        value={value}
        data-testid="replicas"
        onInput={(event) => {
          pick(event.currentTarget.valueAsNumber);
        }}
      />
      <p class="quiet">
        {count(now.placed, "replica")} with a node of {number(now.wanted)} wanted.
      </p>
    </div>
  );
}
