/** A rollout step by step: pods of both revisions in each domain, the skew over time, and every step in words. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { RolloutFields, SimulateAnswer, TracedStep } from "../api-types";
import { framesOf, type Frame, type Frames, type Surroundings } from "../model/frames";
import { count, number, shortKey } from "../model/words";
import { Evicted } from "../parts/Evicted";
import { LostVolumes } from "../parts/LostVolumes";
import { announce } from "../parts/live";
import { NAMED, PodColumns } from "../parts/PodColumns";
import { SkewChart } from "../parts/SkewChart";
import { Badge, Fact, Limits, Name, Notice, type Tone } from "../parts/text";

interface Props {
  answer: SimulateAnswer;
  rollout: RolloutFields;
  /** What is known of nodes; absent in a report, which then lists the steps only. */
  around: Surroundings | null;
  step: number;
  onStep: (step: number) => void;
  /** Returns the pods on the nodes after a step; absent in a report. */
  map?: (trace: readonly TracedStep[], step: number) => ComponentChildren;
}

const OUTCOMES: Record<RolloutFields["outcome"], { tone: Tone; title: string }> = {
  complete: { tone: "good", title: "It completes." },
  waitsForDeletion: { tone: "warning", title: "Old pods stay until someone deletes them (OnDelete)." },
  pending: { tone: "error", title: "It ends with pending pods." },
  deadlock: { tone: "error", title: "It deadlocks: old pods are left over for ever." },
};
/** Return how a course ends, in words. */
export function outcomeWords(outcome: RolloutFields["outcome"]): string {
  return OUTCOMES[outcome].title;
}

/** Return a sentence for each DoNotSchedule constraint whose skew is above maxSkew at the end of a course. */
export function overWords({ domains }: SimulateAnswer, course: RolloutFields["likely"]): string[] {
  return domains.flatMap(({ topologyKey, whenUnsatisfiable, maxSkew }, position) => {
    const skew = course.skews[position] ?? 0;
    return whenUnsatisfiable === "DoNotSchedule" && skew > maxSkew
      ? [`${shortKey(topologyKey)} ends at skew ${number(skew)}, above maxSkew ${number(maxSkew)}.`]
      : [];
  });
}

/** Milliseconds that a step is shown. */
const PACE = 700;
/** Milliseconds that all steps together take at most. */
const LONGEST = 30_000;

export function RolloutView({ answer, rollout, around, step, onStep, map }: Props) {
  const [worst, setWorst] = useState(false);
  const [at, setAt] = useState(0);
  const course = worst && rollout.worst ? rollout.worst : rollout.likely;
  const constraint = answer.domains[at];
  const frames = useMemo(
    () => (around && constraint ? framesOf(course, constraint, at, around) : null),
    [course, constraint, at, around],
  );
  const { tone, title } = OUTCOMES[course.outcome];
  const over = overWords(answer, course);
  const other = rollout.worst && (worst ? rollout.likely : rollout.worst);
  return (
    <div class="stack">
      <Notice
        tone={tone === "good" && over.length > 0 ? "warning" : tone}
        title={worst ? `In its worst course: ${title}` : title}
        testId="rollout-outcome"
      >
        <p>
          {rollout.strategy !== "" && <>{rollout.strategy}. </>}
          {rollout.exact
            ? `All ${count(rollout.courses, "course")} were simulated.`
            : `${count(rollout.courses, "course")} were simulated; there are more.`}
          {other &&
            other.outcome !== course.outcome &&
            ` ${worst ? "The likely course ends otherwise" : "The worst course ends otherwise"}: ${OUTCOMES[other.outcome].title}`}
        </p>
        {over.map((words) => (
          <p key={words}>{words}</p>
        ))}
        {course.condition !== "" && (
          <p>
            <Name>{course.condition}</Name>
          </p>
        )}
      </Notice>
      <dl class="facts">
        <Fact label="Steps" value={course.steps} />
        <Fact
          label="Pending at the end"
          value={course.pending.length}
          tone={course.pending.length ? "error" : "good"}
        />
        {rollout.kind === "rollout" && (
          <Fact label="Old pods left" value={course.oldPods} tone={course.oldPods ? "error" : "good"} />
        )}
        {course.evicted.length > 0 && (
          <Fact
            label="Pods of other workloads evicted"
            value={course.evicted.length}
            tone="warning"
            testId="rollout-evicted"
          />
        )}
        {course.evictedPending > 0 && (
          <Fact label="Of those pending at the end" value={course.evictedPending} tone="error" />
        )}
        {rollout.pendingBefore > 0 && <Fact label="Without a node before" value={rollout.pendingBefore} />}
        {answer.domains.map(({ topologyKey, maxSkew, whenUnsatisfiable }, position) => {
          const [skew, peak] = [course.skews[position] ?? 0, course.peaks[position]];
          const bad = whenUnsatisfiable === "DoNotSchedule" ? "error" : "warning";
          const key = shortKey(topologyKey);
          return (
            <>
              <Fact
                key={`end ${position}`}
                label={`${key} skew at the end, of maxSkew ${number(maxSkew)}`}
                value={skew}
                tone={skew > maxSkew ? bad : "good"}
                testId={`end-skew-${position}`}
              />
              {peak && peak.skew > skew && (
                <Fact
                  key={`peak ${position}`}
                  label={`Largest ${key} skew, after step ${number(peak.step)}`}
                  value={peak.skew}
                />
              )}
            </>
          );
        })}
      </dl>
      <div class="toolbar">
        {rollout.worst && (
          <div class="toggle" role="group" aria-label="Course">
            <button
              aria-pressed={!worst}
              onClick={() => {
                setWorst(false);
                onStep(0);
              }}
            >
              Likely course
            </button>
            <button
              aria-pressed={worst}
              onClick={() => {
                setWorst(true);
                onStep(0);
              }}
            >
              Worst course
            </button>
          </div>
        )}
        {answer.domains.length > 1 && (
          <label class="field">
            <span>Constraint</span>
            <select
              value={at}
              onChange={(event) => {
                setAt(Number(event.currentTarget.value));
              }}
            >
              {answer.domains.map((domains, position) => (
                <option key={position} value={position}>
                  {shortKey(domains.topologyKey)}, maxSkew {domains.maxSkew}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {frames && constraint ? (
        <Player
          frames={frames}
          maxSkew={constraint.maxSkew}
          hard={constraint.whenUnsatisfiable === "DoNotSchedule"}
          trace={course.trace}
          step={Math.min(step, frames.frames.length - 1)}
          onStep={onStep}
          topologyKey={constraint.topologyKey}
          map={map?.(course.trace, Math.min(step, frames.frames.length - 1))}
        />
      ) : (
        <Steps trace={course.trace} step={-1} onStep={null} />
      )}
      {course.trace.length < course.steps && (
        <p class="quiet">Of {number(course.steps)} steps the first and the last are listed.</p>
      )}
      {/* A report has those of the likely course already. */}
      {(around !== null || worst) && <LostVolumes volumes={course.lostVolumes} />}
      {(around !== null || worst) && <Evicted pods={course.evicted} />}
      <Limits title="Assumed" items={rollout.assumptions} />
    </div>
  );
}

interface PlayerProps {
  frames: Frames;
  maxSkew: number;
  hard: boolean;
  trace: readonly TracedStep[];
  step: number;
  topologyKey: string;
  onStep: (step: number) => void;
  map: ComponentChildren;
}

function Player({ frames, maxSkew, hard, trace, step, topologyKey, onStep, map }: PlayerProps) {
  const [playing, setPlaying] = useState(false);
  const last = frames.frames.length - 1;
  useEffect(() => {
    if (!playing) return;
    if (step >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(
      () => {
        onStep(step + 1);
      },
      Math.min(PACE, LONGEST / last),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [playing, step, last, onStep]);
  const move = (next: number): void => {
    setPlaying(false);
    const to = Math.max(0, Math.min(last, next));
    onStep(to);
    announce(sentence(trace, to));
  };
  const frame = frames.frames[step];
  if (!frame) return null;
  return (
    <section class="panel player" aria-label="Steps of the rollout">
      <div class="player-controls">
        <button
          aria-label="To the start"
          disabled={step === 0}
          onClick={() => {
            move(0);
          }}
        >
          <Icon path="M4 3v10M13 3 6 8l7 5z" />
        </button>
        <button
          aria-label="One step back"
          disabled={step === 0}
          data-testid="step-back"
          onClick={() => {
            move(step - 1);
          }}
        >
          <Icon path="M12 3 5 8l7 5z" />
        </button>
        <button
          class="primary"
          data-testid="play"
          onClick={() => {
            if (step >= last) onStep(0);
            setPlaying(!playing);
          }}
        >
          {playing ? "Pause" : step >= last ? "Play again" : "Play"}
        </button>
        <button
          aria-label="One step on"
          disabled={step >= last}
          data-testid="step-on"
          onClick={() => {
            move(step + 1);
          }}
        >
          <Icon path="M4 3l7 5-7 5z" />
        </button>
        <button
          aria-label="To the end"
          disabled={step >= last}
          onClick={() => {
            move(last);
          }}
        >
          <Icon path="M12 3v10M3 3l7 5-7 5z" />
        </button>
        <input
          type="range"
          min={0}
          max={last}
          value={step}
          aria-label="Step"
          aria-valuetext={sentence(trace, step)}
          data-testid="step"
          onInput={(event) => {
            move(event.currentTarget.valueAsNumber);
          }}
        />
        <output>
          {number(step)} of {number(last)}
        </output>
      </div>
      <p class="step-words" data-testid="step-words">
        <Name>{sentence(trace, step)}</Name>{" "}
        <Badge tone={frame.skew > maxSkew ? (hard ? "error" : "warning") : "good"}>
          skew {number(frame.skew)} of {number(maxSkew)}
        </Badge>
        {frame.pending > 0 && (
          <>
            {" "}
            <Badge tone="error">{number(frame.pending)} pending</Badge>
          </>
        )}
      </p>
      {!frames.exact && (
        <Notice tone="warning" title="The counts between the start and the end are incomplete.">
          Not every step is listed, or a node's domain is not known.
        </Notice>
      )}
      {map}
      <PodColumns
        columns={frames.domains.map((name) => ({
          name,
          stacks: [
            { look: "held", pods: frame.fresh[name] ?? 0 },
            { look: "old", pods: frame.old[name] ?? 0 },
          ],
        }))}
        pending={frame.pending}
        most={mostOf(frames)}
        hard={hard}
      />
      {frames.domains.length <= NAMED ? (
        <FrameTable frames={frames} frame={frame} topologyKey={topologyKey} />
      ) : (
        <details>
          <summary>The numbers of {count(frames.domains.length, "domain")}</summary>
          <FrameTable frames={frames} frame={frame} topologyKey={topologyKey} />
        </details>
      )}
      <h2>Skew over time</h2>
      <SkewChart frames={frames.frames} maxSkew={maxSkew} at={step} onPick={move} />
      <Steps trace={trace} step={step} onStep={move} />
    </section>
  );
}

function Icon({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

/** Return the most pods that a domain, or those without a node, are of in any frame. */
function mostOf({ domains, frames }: Frames): number {
  const both = ({ old, fresh }: Frame): number[] => domains.map((name) => (old[name] ?? 0) + (fresh[name] ?? 0));
  return frames.reduce((most, frame) => Math.max(most, frame.pending, ...both(frame)), 1);
}

function FrameTable({ frames, frame, topologyKey }: { frames: Frames; frame: Frame; topologyKey: string }) {
  return (
    <table class="domain-table frame" data-testid="frame">
      <caption class="hidden">Pods of each {shortKey(topologyKey)} by revision</caption>
      <thead>
        <tr>
          <th scope="col">{shortKey(topologyKey)}</th>
          <th scope="col" class="number">
            <i class="key-old" />
            Old
          </th>
          <th scope="col" class="number">
            <i class="key-new" />
            New
          </th>
        </tr>
      </thead>
      <tbody>
        {frames.domains.map((name) => (
          <tr key={name}>
            <th scope="row">
              <Name>{name}</Name>
            </th>
            <td class="number">{number(frame.old[name] ?? 0)}</td>
            <td class="number">{number(frame.fresh[name] ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Steps({
  trace,
  step,
  onStep,
}: {
  trace: readonly TracedStep[];
  step: number;
  onStep: ((step: number) => void) | null;
}) {
  return (
    <details open={onStep === null}>
      <summary>{count(trace.length, "step")} in words</summary>
      <ol class="steps">
        {trace.map((found, at) => (
          <li key={at} class={at + 1 === step ? "current" : ""} value={found.step}>
            {onStep ? (
              <button
                class="link"
                onClick={() => {
                  onStep(at + 1);
                }}
              >
                <Name>{stepWords(found)}</Name>
              </button>
            ) : (
              <Name>{stepWords(found)}</Name>
            )}
            {found.message !== undefined && (
              <span class="why">
                <Name>{found.message}</Name>
              </span>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

function sentence(trace: readonly TracedStep[], step: number): string {
  const found = trace[step - 1];
  return found ? `Step ${number(found.step)}: ${stepWords(found)}` : "Before the first step";
}

function stepWords(step: TracedStep): string {
  const evicted = step.evicted?.join(", ");
  return evicted === undefined ? actionWords(step) : `${actionWords(step)}, evicting ${evicted}`;
}

function actionWords({ action, pod, new: fresh, node, evictedFor }: TracedStep): string {
  const revision = fresh ? "new" : "old";
  if (action === "evicted") return `${revision} pod ${pod} evicted from ${node ?? ""} for ${evictedFor ?? ""}`;
  if (action === "deleted") return `${revision} pod ${pod} deleted${node === null ? "" : ` from ${node}`}`;
  if (node === null) return `${revision} pod ${pod} created, pending`;
  return action === "scheduled"
    ? `${revision} pod ${pod} scheduled on ${node}`
    : `${revision} pod ${pod} created on ${node}`;
}
