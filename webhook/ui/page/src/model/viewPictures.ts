/** The rows of the pictures of views: workloads, pending pods, nodes, and two scenarios. */
import type { AuditedEntry, Outcome, PendingGroup, ScoreAnswer, WorkloadOutcome } from "../api-types";
import type { Cluster } from "./cluster";
import { calmWord, missingOf, riskLabel } from "./risk";
import { CAUSES, toneOf } from "./outcome";
import { comparedWorkloads } from "./scenarios";
import type { CellLine, PicturedTable } from "./tablePicture";
import { checkWords, listNodes } from "./verdicts";
import { count, number, sentence, shortKey, shortKind } from "./words";

/** Return which cluster of when a picture is of. */
export function clusterWords(cluster: Cluster): string {
  const { source, kubernetesVersion } = cluster.map;
  return `Cluster ${source.name || "live"} of ${source.readAt}, Kubernetes ${kubernetesVersion}`;
}

function named({ kind, namespace, name }: { kind: string; namespace: string; name: string }): CellLine[] {
  return [{ text: `${shortKind(kind)} ${namespace}/${name}` }];
}

/** Return the list of workloads. */
export function workloadTable(workloads: readonly AuditedEntry[]): PicturedTable {
  const rows = workloads.map((found) => {
    const calm = calmWord(found);
    const risks = found.problems.flatMap(({ risk, severity, message }): CellLine[] => [
      { text: riskLabel(risk), tone: severity },
      { text: message },
    ]);
    const missing = missingOf(found);
    const pods = `${found.running === null ? "?" : number(found.running)}${found.replicas === null ? "" : ` of ${number(found.replicas)}`}`;
    return [
      named(found),
      risks.length ? risks : [{ text: calm.word, tone: calm.tone }],
      [
        { text: pods },
        ...(found.pending ? [{ text: `${number(found.pending)} pending`, tone: "error" as const }] : []),
        ...(missing ? [{ text: `${number(missing)} missing`, tone: "warning" as const }] : []),
      ],
      found.constraints.map(({ topologyKey, globalMinimum, most, maxSkew, skew, whenUnsatisfiable }) => {
        const hard = whenUnsatisfiable === "DoNotSchedule";
        return {
          text: `${shortKey(topologyKey)} ${number(skew)} of ${number(maxSkew)}${hard ? "" : " soft"}`,
          skew: { minimum: globalMinimum, most, maxSkew, hard },
        };
      }),
    ];
  });
  const columns = [
    { title: "Workload", width: 230 },
    { title: "Risk", width: 380 },
    { title: "Pods", width: 110 },
    { title: "Skew against maxSkew", width: 290 },
  ];
  return { columns, rows, noun: "workload", none: "No workload is left by this filter." };
}

/** Return the list of pending pods. */
export function pendingTable(groups: readonly PendingGroup[], cluster: Cluster): PicturedTable {
  const rows = groups.map((group): CellLine[][] => {
    const [first] = group.pods;
    const workload = cluster.workloads[group.workload];
    const stuck = group.feasibleNodes === 0;
    const whose = workload ?? { kind: "Pod", namespace: group.namespace, name: first?.name ?? "" };
    return [
      named(whose),
      [{ text: count(group.count, "pod"), tone: stuck ? "error" : "warning" }],
      [
        ...(group.why === "" ? [] : [{ text: sentence(group.why) }]),
        ...group.problems.map(({ message }) => ({ text: `Not evaluated: ${message}` })),
        ...(stuck || group.feasibleNodes === null
          ? []
          : [{ text: `In this model it fits ${count(group.feasibleNodes, "node")} now.` }]),
      ],
      first && first.condition !== "" ? [{ text: first.condition }] : [],
    ];
  });
  const columns = [
    { title: "Workload", width: 230 },
    { title: "Pending", width: 110 },
    { title: "Why", width: 420 },
    { title: "kube-scheduler's message", width: 340 },
  ];
  return { columns, rows, noun: "group", none: "No pending pod is left by this filter." };
}

/** Return every node's verdict on the next pod. */
export function nodeTable(score: ScoreAnswer): PicturedTable {
  const best = new Set(score.best);
  const rows = listNodes(score.nodes, "all", "").map((node): CellLine[][] => {
    const points = Object.entries(node.plugins ?? {}).map(([plugin, held]) => `${plugin} ${number(held.weighted)}`);
    return [
      [{ text: `${node.name}${best.has(node.name) ? " (best)" : ""}` }],
      [{ text: node.feasible ? "takes it" : "refuses", tone: node.feasible ? "good" : "error" }],
      [
        ...node.rejections
          .filter(({ plugin }) => plugin !== "PodTopologySpread")
          .map(({ plugin, reason }) => ({ text: `${plugin}: ${reason}` })),
        ...node.checks.map((check) => ({ text: checkWords(check, score.constraints) })),
      ],
      [{ text: node.total === null ? "–" : number(node.total) }],
      points.length ? [{ text: points.join(", ") }] : [],
    ];
  });
  const columns = [
    { title: "Node", width: 200 },
    { title: "Verdict", width: 100 },
    { title: "Why", width: 430 },
    { title: "Total", width: 70 },
    { title: "Points by plugin", width: 320 },
  ];
  return { columns, rows, noun: "node", none: "There is no node." };
}

/** Return the workloads that lose pods in either of two scenarios. */
export function scenarioTable(names: readonly [string, string], first: Outcome, second: Outcome): PicturedTable {
  const fate = (found: WorkloadOutcome | null): CellLine[] => {
    const [verdict] = found?.verdicts ?? [];
    if (!found || !verdict) return [{ text: "loses no pod" }];
    const tone = toneOf(verdict);
    return [
      { text: CAUSES[verdict.cause], tone: tone === "unknown" ? "warning" : tone },
      { text: `${number(found.after)} of ${number(found.before)} run` },
    ];
  };
  const rows = comparedWorkloads(first, second).map(({ key, first: a, second: b }) => [named(key), fate(a), fate(b)]);
  const columns = [
    { title: "Workload", width: 260 },
    { title: names[0], width: 370 },
    { title: names[1], width: 370 },
  ];
  return { columns, rows, noun: "workload", none: "No workload loses a pod in either." };
}
