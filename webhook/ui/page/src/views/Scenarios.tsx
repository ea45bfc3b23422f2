/** Two scenarios of the whole cluster side by side: the verdict on each, its numbers, and what differs. */
import type { Outcome, WorkloadOutcome } from "../api-types";
import { START, type ClusterState, type PageState, type Scenario } from "../model/fragment";
import { comparedWorkloads, differenceWords, scenarioName } from "../model/scenarios";
import { count, number } from "../model/words";
import { Failure, Name, Waiting } from "../parts/text";
import { Headline, Linked, MOST_LISTED, VerdictBadge, waysOf } from "./OutcomeView";
import type { Played } from "./played";

interface Props {
  state: ClusterState;
  /** The scenario that is on the map, and the one that is kept beside it. */
  shown: Played;
  kept: Played;
  go: (state: PageState) => void;
}

/** Characters of a name that a person gives. */
const MOST_NAMED = 60;

/** A field for the name of a scenario. */
export function ScenarioName({
  scenario,
  testId,
  onName,
}: {
  scenario: Scenario;
  testId: string;
  onName: (name: string) => void;
}) {
  return (
    <input
      class="scenario-name"
      type="text"
      aria-label="Name of the scenario"
      placeholder={scenarioName({ ...scenario, name: "" }).slice(0, MOST_NAMED)}
      maxLength={MOST_NAMED}
      autocomplete="off"
      value={scenario.name}
      data-testid={testId}
      onChange={(event) => {
        onName(event.currentTarget.value.trim());
      }}
    />
  );
}

/** The kept scenario beside the one on the map, or a line that says how to make one. */
export function Scenarios({ state, shown, kept, go }: Props) {
  const first = state.kept;
  if (!first) return null;
  const second = { name: state.name, actions: state.actions };
  const [a, b] = [kept, shown].map(({ data, loading }) => (loading ? null : (data?.outcome ?? null)));
  const names = [scenarioName(first), scenarioName(second)] as const;
  const forget = (
    <button
      data-testid="forget-scenario"
      onClick={() => {
        go({ ...state, kept: null });
      }}
    >
      Stop comparing
    </button>
  );
  if (second.actions.length === 0)
    return (
      <section class="panel disruption-bar" aria-label="Kept scenario" data-testid="kept-scenario">
        <p>
          <strong>
            <Name>{names[0]}</Name>
          </strong>{" "}
          is kept. Make another: lose, drain or cordon something else, and both stand side by side.
        </p>
        <span class="buttons">
          <button
            data-testid="show-kept"
            onClick={() => {
              go({ ...state, ...first, kept: null });
            }}
          >
            Show it
          </button>
          {forget}
        </span>
      </section>
    );
  return (
    <section class="panel" aria-label="Scenarios side by side" data-testid="scenarios">
      <div class="panel-head">
        <h2>Two scenarios</h2>
        <span class="buttons">
          <button
            data-testid="swap-scenarios"
            onClick={() => {
              go({ ...state, ...first, kept: second });
            }}
          >
            Show <Name>{names[0]}</Name> on the map
          </button>
          {forget}
        </span>
      </div>
      {a && b && (
        <p class="lead" data-testid="difference">
          <strong>
            <Name>{differenceWords(names, a, b)}</Name>
          </strong>
        </p>
      )}
      <div class="sides">
        <Side
          scenario={first}
          found={kept}
          testId="scenario-kept"
          onName={(name) => {
            go({ ...state, kept: { ...first, name } });
          }}
        />
        <Side
          scenario={second}
          found={shown}
          testId="scenario-shown"
          onName={(name) => {
            go({ ...state, name });
          }}
        />
      </div>
      {a && b && <Workloads names={names} first={a} second={b} go={go} />}
    </section>
  );
}

function Side({
  scenario,
  found,
  testId,
  onName,
}: {
  scenario: Scenario;
  found: Played;
  testId: string;
  onName: (name: string) => void;
}) {
  return (
    <section class="side-column" aria-label={scenarioName(scenario)} data-testid={testId}>
      <div class="side-head">
        <h3>
          <Name>{scenarioName(scenario)}</Name>
        </h3>
      </div>
      <label class="field">
        <span>Name</span>
        <ScenarioName {...{ scenario, onName }} testId={`${testId}-name`} />
      </label>
      {found.error && <Failure error={found.error} />}
      {found.loading && <Waiting>Scheduling again what is displaced…</Waiting>}
      {found.data && !found.loading && <Headline outcome={found.data.outcome} about={null} />}
    </section>
  );
}

function Workloads({
  names,
  first,
  second,
  go,
}: {
  names: readonly [string, string];
  first: Outcome;
  second: Outcome;
  go: Props["go"];
}) {
  const workloads = comparedWorkloads(first, second);
  if (workloads.length === 0) return null;
  return (
    <div class="scrolled" tabIndex={0} role="group" aria-label="Workloads of both scenarios">
      <table class="compact" data-testid="compared-workloads">
        <thead>
          <tr>
            <th scope="col">Workload</th>
            {names.map((name, at) => (
              <th key={at} scope="col">
                <Name>{name}</Name>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {workloads.slice(0, MOST_LISTED).map(({ key, first: a, second: b }) => (
            <tr key={`${key.kind}/${key.namespace}/${key.name}`} data-testid="compared-workload">
              <th scope="row">
                <Linked found={key} lost={null} ways={waysOf(go, () => START)} />
              </th>
              <td>
                <FateOf found={a} />
              </td>
              <td>
                <FateOf found={b} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {workloads.length > MOST_LISTED && (
        <p class="quiet">and {count(workloads.length - MOST_LISTED, "more workload")}</p>
      )}
    </div>
  );
}

function FateOf({ found }: { found: WorkloadOutcome | null }) {
  const [verdict] = found?.verdicts ?? [];
  if (!found || !verdict) return <span class="quiet">loses no pod</span>;
  return (
    <>
      <VerdictBadge verdict={verdict} />{" "}
      <span class="quiet">
        {number(found.after)} of {number(found.before)} run
      </span>
    </>
  );
}
