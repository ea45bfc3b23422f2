/** Every node's verdict with its operands, and the scores of those that take the pod. */
import { useMemo, useState } from "preact/hooks";
import { MOST_NAME, type ScoreAnswer, type ScoredNode } from "../api-types";
import { SWATCHES } from "../model/colors";
import { checkWords, listNodes, scoringPlugins, type Verdict } from "../model/verdicts";
import { count, number, printable } from "../model/words";
import { Badge, Empty, Limits, Name, Notice } from "../parts/text";
import { VirtualRows } from "../parts/VirtualRows";

const VERDICTS: readonly { verdict: Verdict; label: string }[] = [
  { verdict: "all", label: "All" },
  { verdict: "fits", label: "Take the pod" },
  { verdict: "refused", label: "Refuse it" },
];
const ROW = 62;

export function NodesPanel({ score }: { score: ScoreAnswer }) {
  const [verdict, setVerdict] = useState<Verdict>("all");
  const [text, setText] = useState("");
  const plugins = useMemo(() => scoringPlugins(score.nodes), [score]);
  const most = useMemo(() => score.nodes.reduce((a, node) => Math.max(a, node.total ?? 0), 1), [score]);
  const shown = useMemo(() => listNodes(score.nodes, verdict, text), [score, verdict, text]);
  const best = new Set(score.best);
  return (
    <section class="panel" aria-label="Nodes">
      {score.message !== "" && (
        <Notice tone="error" title="The next pod fits no node.">
          <p>
            <Name>{score.condition || score.message}</Name>
          </p>
        </Notice>
      )}
      <div class="toolbar">
        <input
          type="search"
          class="grow"
          aria-label="Filter nodes"
          placeholder="Filter by node, plugin or reason"
          maxLength={MOST_NAME}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
          }}
        />
        <div class="toggle" role="group" aria-label="Verdict">
          {VERDICTS.map((found) => (
            <button
              key={found.verdict}
              aria-pressed={found.verdict === verdict}
              onClick={() => {
                setVerdict(found.verdict);
              }}
            >
              {found.label}
            </button>
          ))}
        </div>
        <span class="quiet" role="status">
          {number(shown.length)} of {count(score.nodes.length, "node")}
        </span>
      </div>
      {plugins.length > 0 && (
        <ul class="plugin-legend" aria-label="Plugins that score">
          {plugins.map((plugin, at) => (
            <li key={plugin}>
              <PluginKey at={at} />
              {plugin}
            </li>
          ))}
        </ul>
      )}
      {shown.length === 0 ? (
        <Empty title="No node is left by this filter." />
      ) : (
        <VirtualRows
          items={shown}
          height={ROW}
          label="Nodes with verdict and scores"
          testId="verdicts"
          keyOf={(node) => node.name}
          head={
            <>
              <span role="columnheader" class="n-name">
                Node
              </span>
              <span role="columnheader" class="n-verdict">
                Verdict
              </span>
              <span role="columnheader" class="n-total number">
                Total
              </span>
              <span role="columnheader" class="n-score">
                Points by plugin
              </span>
            </>
          }
          row={(node) => (
            <>
              <span role="cell" class="n-name">
                <Name>{node.name}</Name>
                {best.has(node.name) && <span class="tag">best</span>}
              </span>
              <span role="cell" class="n-verdict">
                <VerdictOf node={node} score={score} />
              </span>
              <span role="cell" class="n-total number">
                {node.total === null ? "–" : number(node.total)}
              </span>
              <span role="cell" class="n-score">
                {node.plugins && <Stack node={node} plugins={plugins} most={most} />}
              </span>
            </>
          )}
        />
      )}
      <Limits title="Not modeled: what else the scheduler looks at" items={score.notModeled} />
    </section>
  );
}

function VerdictOf({ node, score }: { node: ScoredNode; score: ScoreAnswer }) {
  const checks = node.checks.map((check) => checkWords(check, score.constraints));
  const reasons = node.rejections
    .filter((found) => found.plugin !== "PodTopologySpread")
    .map((found) => `${found.plugin}: ${found.reason}`);
  const points = Object.entries(node.plugins ?? {}).map(([plugin, held]) => `${plugin} ${number(held.weighted)}`);
  const all = [...reasons, ...checks, ...(points.length ? [`points: ${points.join(", ")}`] : [])];
  return (
    <>
      <Badge tone={node.feasible ? "good" : "error"}>{node.feasible ? "takes it" : "refuses"}</Badge>
      <span class="n-why" title={all.map(printable).join("\n")}>
        <Name>{all.join("; ")}</Name>
      </span>
    </>
  );
}

function Stack({ node, plugins, most }: { node: ScoredNode; plugins: readonly string[]; most: number }) {
  let x = 0;
  const points = plugins.map((plugin) => ({ plugin, points: node.plugins?.[plugin]?.weighted ?? 0 }));
  const words = points
    .filter((found) => found.points !== 0)
    .map((found) => `${found.plugin} ${number(found.points)}`)
    .join(", ");
  return (
    <svg class="stack-bar" viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      {points.map(({ plugin, points: held }, at) => {
        const width = (100 * Math.max(0, held)) / most;
        x += width;
        return (
          width > 0 && (
            <rect
              key={plugin}
              x={x - width}
              y="1"
              width={Math.max(0, width - 0.3)}
              height="14"
              fill={SWATCHES[at % SWATCHES.length]?.color}
            />
          )
        );
      })}
    </svg>
  );
}

function PluginKey({ at }: { at: number }) {
  return (
    <svg class="swatch" viewBox="0 0 14 14" aria-hidden="true">
      <rect width="14" height="14" rx="2" fill={SWATCHES[at % SWATCHES.length]?.color} />
    </svg>
  );
}
