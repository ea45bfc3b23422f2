/** Workloads by risk with their skew, for the page and for the report of an audit. */
import { useMemo } from "preact/hooks";
import { MOST_NAME, type AuditedEntry } from "../api-types";
import { workloadState, type PageState } from "../model/fragment";
import { calmWord, CHOICES, filtered, isChosen, missingOf, riskLabel } from "../model/risk";
import { count, number, printable } from "../model/words";
import { Link } from "../parts/Link";
import { SkewBar } from "../parts/SkewBar";
import { Badge, Empty, Name, Title } from "../parts/text";
import { VirtualRows } from "../parts/VirtualRows";

interface Props {
  /** The workloads, the riskiest first. */
  workloads: readonly AuditedEntry[];
  filter: string;
  risk: string | null;
  onFilter: (filter: string, risk: string | null) => void;
  /** Opens a workload; absent where there is no page of it. */
  onOpen: (state: PageState) => void;
  /** What is said where there is none at all. */
  none: string;
}

const SHOWN_CONSTRAINTS = 2;

export function WorkloadList({ workloads, filter, risk, onFilter, onOpen, none }: Props) {
  const known = CHOICES.find((found) => found.choice === risk)?.choice ?? null;
  const shown = useMemo(() => filtered(workloads, { text: filter, risk: known }), [workloads, filter, known]);
  const counts = useMemo(() => {
    const found = CHOICES.map(
      ({ choice }) => [choice, workloads.filter((one) => isChosen(one, choice)).length] as const,
    );
    return new Map(found.filter(([, held]) => held > 0));
  }, [workloads]);
  return (
    <section class="panel" aria-label="Workloads">
      <div class="toolbar">
        <input
          type="search"
          class="grow"
          aria-label="Filter workloads"
          placeholder="Filter by kind, namespace or name"
          maxLength={MOST_NAME}
          spellcheck={false}
          value={filter}
          data-testid="filter"
          onInput={(event) => {
            onFilter(event.currentTarget.value, known);
          }}
        />
        <span class="quiet" role="status" data-testid="shown">
          {number(shown.length)} of {count(workloads.length, "workload")}
        </span>
      </div>
      <div class="chips" role="group" aria-label="Risks">
        {CHOICES.filter((found) => counts.has(found.choice) || found.choice === known).map((found) => (
          <button
            key={found.choice}
            class={`chip ${found.severity}`}
            aria-pressed={found.choice === known}
            data-testid={`risk-${found.choice}`}
            onClick={() => {
              onFilter(filter, found.choice === known ? null : found.choice);
            }}
          >
            {found.label} <span class="chip-count">{number(counts.get(found.choice) ?? 0)}</span>
          </button>
        ))}
      </div>
      {shown.length === 0 ? (
        <Empty title={workloads.length ? "No workload is left by this filter." : none}>
          {workloads.length > 0 && (
            <button
              class="link"
              onClick={() => {
                onFilter("", null);
              }}
            >
              Clear the filter
            </button>
          )}
        </Empty>
      ) : (
        <VirtualRows
          items={shown}
          height={68}
          label="Workloads by risk"
          testId="workloads"
          keyOf={(workload) => `${workload.kind}/${workload.namespace}/${workload.name}`}
          head={
            <>
              <span role="columnheader" class="w-name">
                Workload
              </span>
              <span role="columnheader" class="w-risk">
                Risk
              </span>
              <span role="columnheader" class="w-pods number">
                Pods
              </span>
              <span role="columnheader" class="w-skew">
                Skew against maxSkew
              </span>
              <span role="columnheader" class="w-room number">
                Room
              </span>
            </>
          }
          row={(workload) => <Row workload={workload} onOpen={onOpen} />}
        />
      )}
    </section>
  );
}

function Row({ workload, onOpen }: { workload: AuditedEntry; onOpen: (state: PageState) => void }) {
  const [problem, ...others] = workload.problems;
  const more = workload.constraints.length - SHOWN_CONSTRAINTS;
  const missing = missingOf(workload);
  const calm = calmWord(workload);
  return (
    <>
      <span role="cell" class="w-name">
        <Link
          to={workloadState(workload)}
          go={onOpen}
          testId="workload"
          name={`${workload.kind}/${workload.namespace}/${workload.name}`}
        >
          <Title {...workload} />
        </Link>
      </span>
      <span role="cell" class="w-risk">
        {problem ? (
          <>
            <Badge tone={problem.severity}>{riskLabel(problem.risk)}</Badge>
            {others.length > 0 && (
              <span class="quiet" title={others.map((other) => riskLabel(other.risk)).join(", ")}>
                {" "}
                +{others.length}
              </span>
            )}
            <span class="w-why quiet" title={printable(problem.message)}>
              <Name>{problem.message}</Name>
            </span>
          </>
        ) : (
          <Badge tone={calm.tone}>{calm.word}</Badge>
        )}
      </span>
      <span role="cell" class="w-pods number">
        {workload.running === null ? "?" : number(workload.running)}
        {workload.replicas !== null && <span class="quiet"> of {number(workload.replicas)}</span>}
        {workload.pending > 0 && <span class="tone-error"> {number(workload.pending)} pending</span>}
        {missing > 0 && <span class="tone-warning"> {number(missing)} missing</span>}
      </span>
      <span role="cell" class="w-skew">
        {workload.constraints.slice(0, SHOWN_CONSTRAINTS).map((constraint, at) => (
          <SkewBar key={at} constraint={constraint} />
        ))}
        {more > 0 && <span class="quiet">and {count(more, "more constraint")}</span>}
        {workload.constraints.length === 0 && (
          <span class="quiet">{workload.whyNoConstraints ?? "not judged: the API server refuses it"}</span>
        )}
      </span>
      <span role="cell" class="w-room number">
        {room(workload)}
      </span>
    </>
  );
}

/** Return how many more replicas fit, in words. */
function room(workload: AuditedEntry): string {
  if (workload.room === null) return "–";
  const { pods, atMost } = workload.room;
  return `${atMost ? "≤ " : ""}${number(pods)}`;
}
