/** What if: other numbers of replicas, lost and new nodes, another constraint; before and after side by side. */
import { useState } from "preact/hooks";
import type { ExplainAnswer, FieldEdit, WorkloadDetail } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { MOST_REPLICAS, type WorkloadState } from "../model/fragment";
import { comparedDomains } from "../model/compared";
import { whatIfBody, whatIfCommand } from "../model/whatif";
import { count, number } from "../model/words";
import { NumberInput } from "../parts/NumberInput";
import { useRequest } from "../parts/request";
import { Failure, Name, Notice, Waiting } from "../parts/text";
import { ActionsForm } from "./ActionsForm";
import { ConstraintForm } from "./ConstraintForm";
import { Domains, Outcome, OutcomeFacts } from "./Outcome";

interface Props {
  client: Client;
  cluster: Cluster;
  detail: WorkloadDetail;
  explain: ExplainAnswer;
  manifest: string;
  state: WorkloadState;
  change: (part: Partial<WorkloadState>) => void;
  onEdit: (edits: FieldEdit[]) => void;
}

/** Milliseconds that the slider waits for a further move. */
const PAUSE = 60;

export function WhatIfPanel({ client, cluster, detail, explain, manifest, state, change, onEdit }: Props) {
  const now = detail.explain?.replicas ?? explain.replicas;
  // Pods that run are of another revision than an edited copy, which then has none of its own.
  const own = explain.replicas;
  const [against, setAgainst] = useState<"now" | "original">("now");
  const body = whatIfBody(manifest, state, own);
  const original = whatIfBody(detail.manifest, state, now);
  const { data, error, loading } = useRequest(JSON.stringify(body), (signal) => client.simulate(body, signal), PAUSE);
  const compares = state.edited !== null && against === "original";
  const other = useRequest(
    compares ? JSON.stringify(original) : null,
    (signal) => client.simulate(original, signal),
    PAUSE,
  );
  const command = whatIfCommand(state, body, cluster.map.source);
  return (
    <div class="whatif">
      <section class="panel controls" aria-label="What happens">
        <h2>What if</h2>
        {own ? (
          <ReplicaSlider now={own} state={state} change={change} />
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
        {(state.actions.length > 0 || state.replicas !== null) && (
          <button
            class="link"
            data-testid="reset"
            onClick={() => {
              change({ actions: [], replicas: null });
            }}
          >
            Undo everything here
          </button>
        )}
      </section>
      <div class={`results ${loading || other.loading ? "stale" : ""}`} aria-busy={loading}>
        {state.edited !== null && (
          <Notice tone="note">
            Replicas of the copy are scheduled as new pods beside those that run. <Name>{explain.editing}</Name> Rollout
            shows how they replace them.
          </Notice>
        )}
        {error && <Failure error={error} />}
        {other.error && <Failure error={other.error} />}
        {!data && !error && <Waiting>Scheduling…</Waiting>}
        {data && (
          <>
            <div class="sides">
              <section aria-label="Before" class="side-column">
                <div class="side-head">
                  <h2>{compares ? "Original manifest" : "Now"}</h2>
                  {state.edited !== null && (
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
                      <OutcomeFacts answer={other.data} now={now} />
                      <Outcome answer={other.data} now={now} explain={detail.explain} />
                    </>
                  )
                ) : (
                  <>
                    {now && (
                      <dl class="facts">
                        <div class="fact">
                          <dt>Replicas with a node</dt>
                          <dd data-testid="now-placed">{number(now.placed)}</dd>
                        </div>
                        <div class="fact">
                          <dt>Missing</dt>
                          <dd>{number(Math.max(0, now.wanted - now.placed))}</dd>
                        </div>
                      </dl>
                    )}
                    {!now && <p class="quiet">The cluster as it is.</p>}
                    <div class="stack">
                      {comparedDomains(data, explain).map((domains) => (
                        <Domains key={domains.constraint} domains={domains} after={false} />
                      ))}
                    </div>
                  </>
                )}
              </section>
              <section aria-label="After" class="side-column">
                <div class="side-head">
                  <h2>After</h2>
                </div>
                <OutcomeFacts answer={data} now={own} />
                <Outcome answer={data} now={own} explain={explain} />
              </section>
            </div>
            <details class="command">
              <summary>The same in a terminal</summary>
              <pre data-testid="command">
                <code>{command}</code>
              </pre>
              {state.edited !== null && (
                <p class="quiet">Save the edited manifest as edited.yaml first (Save, Manifest).</p>
              )}
            </details>
          </>
        )}
      </div>
    </div>
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
  const least = state.actions.length ? now.placed : 0;
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
          most={MOST_REPLICAS}
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
