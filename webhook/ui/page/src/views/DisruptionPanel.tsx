/** What happens to nodes of the whole cluster: the list, what is gone at once, and the answer once it is there. */
import type { Outcome } from "../api-types";
import type { NodeEvent } from "../model/actions";
import type { RequestError } from "../client";
import type { Cluster } from "../model/cluster";
import type { ClusterState, PageState } from "../model/fragment";
import { touched } from "../model/moves";
import { count } from "../model/words";
import { Failure, Waiting } from "../parts/text";
import { ActionsForm } from "./ActionsForm";
import { Headline } from "./OutcomeView";
import { ScenarioName } from "./Scenarios";

interface Props {
  state: ClusterState;
  go: (state: PageState) => void;
  cluster: Cluster;
  actions: readonly NodeEvent[];
  outcome: Outcome | null;
  error: RequestError | null;
  loading: boolean;
  /** Whether the person ended the work. */
  cancelled: boolean;
  onChange: (actions: NodeEvent[]) => void;
  onCancel: (cancelled: boolean) => void;
}

/** The id of what opens the form. */
export const WHAT_IF = "what-if-cluster";

export function DisruptionPanel(props: Props) {
  const { state, cluster, actions, outcome, error, loading, cancelled, onChange, onCancel, go } = props;
  return (
    <section class="panel disruption" aria-label="What if" data-testid="disruption">
      {actions.length > 0 && (
        <div aria-busy={loading}>
          {loading && <Gone cluster={cluster} actions={actions} onCancel={onCancel} />}
          {error && <Failure error={error} />}
          {cancelled && (
            <p>
              Cancelled: nothing was scheduled again.{" "}
              <button
                class="link"
                onClick={() => {
                  onCancel(false);
                }}
              >
                Schedule
              </button>
            </p>
          )}
          {outcome && !loading && state.kept === null && <Headline outcome={outcome} about={null} />}
        </div>
      )}
      <div class="disruption-bar">
        <details>
          <summary id={WHAT_IF} data-testid="change-cluster">
            {actions.length > 0
              ? `Change what happens: ${count(actions.length, "action")}`
              : "What if nodes are lost, drained, cordoned, tainted or added?"}
          </summary>
          <ActionsForm cluster={cluster} actions={actions} onChange={onChange} />
        </details>
        {actions.length > 0 && (
          <span class="buttons">
            {state.kept === null && (
              <>
                <ScenarioName
                  scenario={state}
                  testId="scenario-name"
                  onName={(name) => {
                    go({ ...state, name });
                  }}
                />
                <button
                  data-testid="keep-scenario"
                  onClick={() => {
                    go({ ...state, name: "", actions: [], kept: { name: state.name, actions } });
                  }}
                >
                  Keep, and compare with another
                </button>
              </>
            )}
            <button
              data-testid="reset-cluster"
              onClick={() => {
                go({ ...state, name: "", actions: [] });
              }}
            >
              Show the cluster as it is
            </button>
          </span>
        )}
      </div>
    </section>
  );
}

/** What is gone, which is known at once, while the pods are scheduled again. */
function Gone({ cluster, actions, onCancel }: Pick<Props, "cluster" | "actions" | "onCancel">) {
  const { nodes, pods, workloads } = touched(cluster, actions);
  return (
    <div class="gone-now" data-testid="gone-now">
      <Waiting>
        {nodes > 0
          ? `${count(nodes, "node")} with ${count(pods, "pod")} of ${count(workloads, "workload")}: scheduling again what is displaced…`
          : "Scheduling…"}
      </Waiting>
      <button
        data-testid="cancel"
        onClick={() => {
          onCancel(true);
        }}
      >
        Cancel
      </button>
    </div>
  );
}
