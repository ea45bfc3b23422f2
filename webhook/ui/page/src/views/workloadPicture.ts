/** The picture of a workload's view: the domains before and after, a rollout, or every node's verdict. */
import type { ExplainAnswer, SimulateAnswer, WorkloadDetail } from "../api-types";
import type { Client } from "../client";
import { actionSentence } from "../model/actions";
import type { Cluster } from "../model/cluster";
import { comparedDomains, type ComparedDomains } from "../model/compared";
import type { Theme } from "../model/draw";
import type { WorkloadState } from "../model/fragment";
import { framesOf } from "../model/frames";
import { pictureOf, type Picture, type PicturedConstraint } from "../model/picture";
import { minimumOf } from "../model/skew";
import { tablePicture } from "../model/tablePicture";
import { clusterWords, nodeTable } from "../model/viewPictures";
import { endsOf } from "../model/whatif";
import { count, number, shortKind } from "../model/words";
import { surroundings } from "./RolloutPanel";
import { outcomeWords, overWords } from "./RolloutView";

interface Pictured {
  client: Client;
  cluster: Cluster;
  state: WorkloadState;
  detail: WorkloadDetail;
  manifest: string;
  explain: ExplainAnswer | null;
  theme: Theme;
  /** Answers the what-if of the view. */
  simulate: (signal: AbortSignal) => Promise<SimulateAnswer>;
}

/** Return the picture of the part of a workload that is shown. */
export function workloadPicture(of: Pictured, signal: AbortSignal): Promise<Picture> {
  const { state, detail } = of;
  if (state.tab === "nodes") return picturedNodes(of, signal);
  return state.tab === "rollout" && detail.inCluster && detail.rolledOut
    ? picturedRollout(of, signal)
    : picturedDomains(of, signal);
}

function titleOf({ kind, namespace, name }: WorkloadState): string {
  return `${shortKind(kind)} ${namespace}/${name}`;
}

/** Return what is said of an edited copy. */
function copyWords({ edited }: WorkloadState): string[] {
  return edited === null ? [] : ["An edited copy"];
}

async function picturedNodes(
  { client, cluster, state, manifest, theme }: Pictured,
  signal: AbortSignal,
): Promise<Picture> {
  const score = await client.score(manifest, signal);
  const taken = score.nodes.filter(({ feasible }) => feasible).length;
  const verdict = `${number(taken)} of ${count(score.nodes.length, "node")} take its next pod.`;
  return tablePicture(titleOf(state), [verdict, ...copyWords(state), clusterWords(cluster)], nodeTable(score), theme);
}

async function picturedRollout(
  { client, cluster, state, detail, manifest, explain, theme }: Pictured,
  signal: AbortSignal,
): Promise<Picture> {
  const answer = await client.rollout({ manifest }, signal);
  const found = comparedDomains(answer, explain);
  const around = surroundings(cluster, detail);
  const { rollout } = answer;
  const constraints = picturedConstraints(found).map((constraint, at) => {
    const change = answer.domains[at];
    const frames = rollout && change ? framesOf(rollout.likely, change, at, around) : null;
    return { ...constraint, skews: frames?.exact ? frames.frames.map(({ skew }) => skew) : [] };
  });
  const about = [
    "What if: it is rolled out",
    ...(rollout ? [`${outcomeWords(rollout.likely.outcome)} ${count(rollout.likely.steps, "step")}.`] : []),
    ...(rollout ? overWords(answer, rollout.likely) : []),
    ...copyWords(state),
    clusterWords(cluster),
  ];
  return pictureOf(titleOf(state), about, constraints, theme);
}

async function picturedDomains(
  { cluster, state, explain, theme, simulate }: Pictured,
  signal: AbortSignal,
): Promise<Picture> {
  const answer = await simulate(signal);
  const constraints = picturedConstraints(comparedDomains(answer, explain));
  const ends = endsOf(answer);
  const happens = [
    ...(state.edited === null ? [] : ["an edited copy is rolled out"]),
    ...state.actions.map(actionSentence),
    ...(state.replicas === null ? [] : [`${state.replicas} replicas`]),
  ];
  const about = [
    ...(happens.length ? [`What if: ${happens.join(", ")}`] : []),
    `${count(ends.running, "replica")} with a node, ${ends.pending} pending`,
    clusterWords(cluster),
  ];
  return pictureOf(titleOf(state), about, constraints, theme);
}

function picturedConstraints(compared: readonly ComparedDomains[]): PicturedConstraint[] {
  return compared.map((found) => ({
    title: `${found.topologyKey}, ${found.whenUnsatisfiable}, maxSkew ${found.maxSkew}`,
    maxSkew: found.maxSkew,
    minimum: minimumOf(found.skew, found.after),
    hard: found.whenUnsatisfiable === "DoNotSchedule",
    domains: Object.keys({ ...found.before, ...found.after }).map((name) => ({
      name,
      pods: found.before[name] ?? 0,
      after: found.after[name] ?? null,
    })),
  }));
}
