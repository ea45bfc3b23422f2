/** What happens to a workload step by step: its pods on the nodes and in each domain, the skew over time, and words. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { PlayedWhatIf, Step, WorkloadDetail, WorkloadOutcome } from "../api-types";
import type { Cluster } from "../model/cluster";
import type { PageState, WorkloadKey } from "../model/fragment";
import { framesOf, type Frame, type Frames, type Surroundings } from "../model/frames";
import { stepWords } from "../model/outcome";
import { mostHeld, ownSteps, podsAtStep } from "../model/ownPods";
import { count, number, shortKey } from "../model/words";
import { announce } from "../parts/live";
import { NAMED, PodColumns } from "../parts/PodColumns";
import { SkewChart } from "../parts/SkewChart";
import { Badge, DomainName, Name, Notice } from "../parts/text";
import { nodesAlone, rowsFor, WorkloadMap } from "./WorkloadMap";

interface Props {
  answer: PlayedWhatIf;
  about: WorkloadOutcome;
  cluster: Cluster;
  detail: WorkloadDetail;
  workload: WorkloadKey;
  step: number;
  onStep: (step: number) => void;
  go: (state: PageState) => void;
}

/** Return what steps are played in. */
export function surroundings(cluster: Cluster, detail: WorkloadDetail, { outcome, own }: PlayedWhatIf): Surroundings {
  const nodes = nodesAlone(cluster, outcome);
  return {
    domainOf: (name, topologyKey) => {
      const node = nodes.positionOf(name);
      return node < 0 ? null : nodes.domainOf(node, topologyKey);
    },
    running: detail.pods,
    waiting: own?.waiting ?? [],
  };
}

/** Milliseconds that a step is shown. */
const PACE = 700;
/** Milliseconds that all steps together take at most. */
const LONGEST = 30_000;

export function StepsPlayer({ answer, about, cluster, detail, workload, step, onStep, go }: Props) {
  const [at, setAt] = useState(0);
  const steps = useMemo(() => ownSteps(answer), [answer]);
  const around = useMemo(() => surroundings(cluster, detail, answer), [cluster, detail, answer]);
  const constraint = about.constraints[at] ?? about.constraints[0] ?? null;
  const frames = useMemo(() => constraint && framesOf(steps, constraint, around), [steps, constraint, around]);
  const shown = Math.max(0, Math.min(step, steps.length));
  const nodes = useMemo(() => nodesAlone(cluster, answer.outcome), [cluster, answer]);
  const pods = useMemo(() => podsAtStep(steps, around.running, around.waiting, shown), [steps, around, shown]);
  const beside = useMemo(() => mostHeld(steps, around.running, around.waiting), [steps, around]);
  if (steps.length === 0) return null;
  return (
    <>
      {about.constraints.length > 1 && (
        <label class="field">
          <span>Constraint</span>
          <select
            value={at}
            onChange={(event) => {
              setAt(Number(event.currentTarget.value));
            }}
          >
            {about.constraints.map(({ topologyKey, maxSkew }, position) => (
              <option key={position} value={position}>
                {shortKey(topologyKey)}, maxSkew {maxSkew}
              </option>
            ))}
          </select>
        </label>
      )}
      <Player
        frames={frames}
        maxSkew={constraint?.maxSkew ?? 0}
        hard={constraint?.whenUnsatisfiable === "DoNotSchedule"}
        topologyKey={constraint?.topologyKey ?? ""}
        steps={steps}
        step={shown}
        onStep={onStep}
        map={
          <WorkloadMap cluster={nodes} rows={rowsFor(cluster, about.constraints)} {...{ workload, pods, beside, go }} />
        }
      />
    </>
  );
}

interface PlayerProps {
  frames: Frames | null;
  maxSkew: number;
  hard: boolean;
  steps: readonly Step[];
  step: number;
  topologyKey: string;
  onStep: (step: number) => void;
  map: ComponentChildren;
}

function Player({ frames, maxSkew, hard, steps, step, topologyKey, onStep, map }: PlayerProps) {
  const [playing, setPlaying] = useState(false);
  const last = steps.length;
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
    announce(sentence(steps, to));
  };
  const frame = frames?.frames[step] ?? null;
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
          aria-valuetext={sentence(steps, step)}
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
        <Name>{sentence(steps, step)}</Name>{" "}
        {frame && (
          <Badge tone={frame.skew > maxSkew ? (hard ? "error" : "warning") : "good"}>
            skew {number(frame.skew)} of {number(maxSkew)}
          </Badge>
        )}
        {frame && frame.pending > 0 && (
          <>
            {" "}
            <Badge tone="error">{number(frame.pending)} pending</Badge>
          </>
        )}
      </p>
      {frames && !frames.exact && (
        <Notice tone="warning" title="The counts between the start and the end are incomplete.">
          Not every step is listed, or a node's domain is not known.
        </Notice>
      )}
      {map}
      {frames && frame && (
        <>
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
          <h3>Skew over time</h3>
          <SkewChart frames={frames.frames} maxSkew={maxSkew} at={step} onPick={move} />
        </>
      )}
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
              <DomainName>{name}</DomainName>
            </th>
            <td class="number">{number(frame.old[name] ?? 0)}</td>
            <td class="number">{number(frame.fresh[name] ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function sentence(steps: readonly Step[], step: number): string {
  const found = steps[step - 1];
  return found ? `Step ${number(step)}: ${stepWords(found)}` : "Before the first step";
}
