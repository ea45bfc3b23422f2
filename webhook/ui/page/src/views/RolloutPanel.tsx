/** What rolling out the manifest does: as it is, or the edited copy. */
import { useMemo } from "preact/hooks";
import type { FieldEdit, TracedStep, WorkloadDetail } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import type { PageState, WorkloadState } from "../model/fragment";
import type { Surroundings } from "../model/frames";
import { mostHeld, podsAtStep } from "../model/ownPods";
import { number } from "../model/words";
import { EditedField } from "../parts/EditedField";
import { useRequest } from "../parts/request";
import { Badge, Failure, Guarantees, Name, Notice, Waiting } from "../parts/text";
import { RolloutView } from "./RolloutView";
import { nodesAlone, rowsFor, WorkloadMap } from "./WorkloadMap";

interface Props {
  client: Client;
  cluster: Cluster;
  detail: WorkloadDetail;
  manifest: string;
  edited: boolean;
  state: WorkloadState;
  go: (state: PageState) => void;
  onStep: (step: number) => void;
  onEdit: (edits: FieldEdit[]) => void;
}

/** Return what a rollout is played in. */
export function surroundings(cluster: Cluster, detail: WorkloadDetail): Surroundings {
  return {
    domainOf: (name, topologyKey) => {
      const node = cluster.positionOf(name);
      return node < 0 ? null : cluster.domainOf(node, topologyKey);
    },
    running: detail.pods.map((pod) => ({ name: pod.name, node: pod.node })),
  };
}

export function RolloutPanel({ client, cluster, detail, manifest, edited, state, onStep, onEdit, go }: Props) {
  const simulated = detail.rolledOut;
  const { data, error } = useRequest(simulated ? manifest : null, (signal) => client.rollout({ manifest }, signal));
  const around = useMemo(() => surroundings(cluster, detail), [cluster, detail]);
  if (!detail.inCluster)
    return (
      <Notice tone="note" title="Nothing runs that it would replace.">
        What if says where its replicas go.
      </Notice>
    );
  if (!simulated)
    return (
      <Notice tone="note" title="This kind is not rolled out step by step here.">
        Rollouts of Deployments and StatefulSets are simulated.
      </Notice>
    );
  if (error) return <Failure error={error} />;
  if (!data) return <Waiting>Rolling out…</Waiting>;
  if (!data.rollout) return null;
  return (
    <>
      {!edited && (
        <Notice tone="note" title="The manifest is not edited.">
          This is how kubectl rollout restart would go. Edit the copy in What if or Manifest to roll out a change.
        </Notice>
      )}
      <RolloutView
        answer={data}
        rollout={data.rollout}
        around={around}
        step={state.step}
        onStep={onStep}
        map={(trace, step) => <StepMap {...{ cluster, detail, state, trace, step, go }} constraints={data.domains} />}
      />
      {data.rollout.suggestions.length > 0 && (
        <section class="panel" aria-label="Suggestions">
          <h2>With these it completes</h2>
          <ol class="suggestions">
            {data.rollout.suggestions.map((found, at) => (
              <li key={at}>
                {found.edits.map((edit) => (
                  <EditedField key={edit.field} edit={edit} />
                ))}
                {found.deletePods.map((pod) => (
                  <p key={pod} class="edit">
                    Delete pod <Name>{pod}</Name>, which its controller waits for.
                  </p>
                ))}
                <p class="suggestion-effect">
                  <Badge tone="good">largest skew at the end {found.worstSkews.map(number).join(", ")}</Badge>
                  <span class="quiet"> It gives up: {found.cost}.</span>
                </p>
                <Guarantees guarantees={found.givenUp} />
                {found.edits.length > 0 && (
                  <button
                    class="primary"
                    data-testid={`rollout-apply-${at}`}
                    onClick={() => {
                      onEdit(found.edits);
                    }}
                  >
                    Apply to a copy
                  </button>
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

/** The pods of both revisions on the nodes after a step. */
function StepMap({
  cluster,
  detail,
  state,
  trace,
  step,
  constraints,
  go,
}: Pick<Props, "cluster" | "detail" | "state" | "go"> & {
  trace: readonly TracedStep[];
  step: number;
  constraints: readonly { topologyKey: string }[];
}) {
  const nodes = useMemo(() => nodesAlone(cluster, null), [cluster]);
  const pods = useMemo(() => podsAtStep(trace, detail.pods, step), [trace, detail, step]);
  const beside = useMemo(() => mostHeld(trace, detail.pods), [trace, detail]);
  return (
    <WorkloadMap cluster={nodes} workload={state} rows={rowsFor(cluster, constraints)} {...{ pods, beside, go }} />
  );
}
