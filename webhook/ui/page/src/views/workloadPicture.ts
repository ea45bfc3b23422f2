/** The picture of a workload's view: the domains before and after, a rollout, or every node's verdict. */
import type { PlayedWhatIf, WorkloadDetail } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import type { Theme } from "../model/draw";
import type { WorkloadState } from "../model/fragment";
import { framesOf } from "../model/frames";
import { asSentence, isSame } from "../model/outcome";
import { ownSteps } from "../model/ownPods";
import { pictureOf, type Picture, type PicturedConstraint } from "../model/picture";
import { minimumOf } from "../model/skew";
import { tablePicture } from "../model/tablePicture";
import { clusterWords, nodeTable } from "../model/viewPictures";
import { count, number, shortKind } from "../model/words";
import { surroundings } from "./StepsPlayer";
import { askedWords } from "./WorkloadView";

interface Pictured {
  client: Client;
  cluster: Cluster;
  state: WorkloadState;
  detail: WorkloadDetail;
  manifest: string;
  theme: Theme;
  /** What comes of what is asked; null where that is not known. */
  answer: PlayedWhatIf | null;
}

/** Return the picture of the part of a workload that is shown. */
export async function workloadPicture(of: Pictured, signal: AbortSignal): Promise<Picture> {
  return of.state.tab === "nodes" ? picturedNodes(of, signal) : picturedDomains(of);
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

/** Return the domains of each constraint before and after, and of a rollout its skew over time. */
function picturedDomains({ cluster, state, detail, theme, answer }: Pictured): Picture {
  const about = answer?.outcome.workloads.find((found) => isSame(found, state));
  const steps = answer ? ownSteps(answer) : [];
  const constraints = (about?.constraints ?? []).map((constraint): PicturedConstraint => {
    const { before, after, skew, maxSkew, topologyKey, whenUnsatisfiable } = constraint;
    const frames =
      answer && state.tab === "rollout" ? framesOf(steps, constraint, surroundings(cluster, detail, answer)) : null;
    return {
      title: `${topologyKey}, ${whenUnsatisfiable}, maxSkew ${maxSkew}`,
      maxSkew,
      minimum: minimumOf(skew ?? 0, after ?? {}),
      hard: whenUnsatisfiable === "DoNotSchedule",
      domains: Object.keys({ ...before, ...after }).map((name) => ({
        name,
        pods: before?.[name] ?? 0,
        after: after?.[name] ?? null,
      })),
      ...(frames?.exact ? { skews: frames.frames.map((frame) => frame.skew) } : {}),
    };
  });
  const asked = askedWords(state);
  const words = [
    ...(asked === "" ? [] : [`What if: ${asked}`]),
    ...(answer ? [asSentence(answer.outcome.verdict.sentence)] : []),
    clusterWords(cluster),
  ];
  return pictureOf(titleOf(state), words, constraints, theme);
}
