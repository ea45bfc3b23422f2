/** Why nodes take a pod or refuse it, in words with the operands of the filter. */
import type { ConstraintCheck, ConstraintStats, Rejection, ScoredNode } from "../api-types";
import { count, number, shortKey } from "./words";

/** Return the filter's sum of one constraint on one node. */
export function checkWords(check: ConstraintCheck, constraints: readonly { topologyKey: string }[]): string {
  const key = shortKey(constraints[check.constraint]?.topologyKey ?? "");
  if (check.domain === null || check.skew === null) return `the node lacks ${key}`;
  const sum = `${number(check.matching)} matching + ${check.selfMatch} self − ${number(check.globalMinimum)} minimum = ${number(check.skew)}`;
  return `${key}: ${sum} ${check.satisfied ? "≤" : ">"} maxSkew ${number(check.maxSkew)}`;
}

/** Return why a plugin refuses the nodes of a group: a sentence for each thing that is missing. */
export function rejectionWords(rejection: Rejection, constraints: readonly ConstraintStats[]): string[] {
  const words: string[] = [];
  if (rejection.taint) {
    const { key, value, effect } = rejection.taint;
    words.push(`taint ${key}${value ? `=${value}` : ""}:${effect} is not tolerated`);
  }
  for (const { resource, requested, leastLeft, mostLeft } of rejection.shortages) {
    // A node whose pods request more than it has by now has nothing left.
    const [least, most] = [Math.max(0, leastLeft), Math.max(0, mostLeft)];
    const left = least === most ? number(most) : `${number(least)} to ${number(most)}`;
    const unit = resource === "cpu" ? " m" : "";
    words.push(`${resource}: ${number(requested)}${unit} requested, ${left}${unit} left`);
  }
  for (const violation of rejection.violations) {
    const constraint = constraints[violation.constraint];
    const key = shortKey(constraint?.topologyKey ?? "");
    if (violation.missingKey || violation.leastSkew === null) {
      words.push(`the nodes lack ${key}`);
      continue;
    }
    const where = violation.domain === null ? count(violation.domains, "domain") : `${key} ${violation.domain}`;
    const skew =
      violation.leastSkew === violation.mostSkew
        ? number(violation.leastSkew)
        : `${number(violation.leastSkew)} to ${number(violation.mostSkew ?? 0)}`;
    const self = constraint?.selfMatch ? 1 : 0;
    const least = violation.leastSkew === violation.mostSkew || violation.domain !== null ? "" : "at least ";
    const operands = `${least}${number(violation.matching ?? 0)} matching + ${self} self − ${number(constraint?.globalMinimum ?? 0)} minimum`;
    words.push(`${where}: ${operands} gives skew ${skew}; maxSkew is ${number(constraint?.maxSkew ?? 0)}`);
  }
  return words.length ? words : rejection.reasons;
}

/** Which nodes are listed. */
export type Verdict = "all" | "fits" | "refused";

/** Return the nodes of a verdict and a name: feasible ones first, the best before the others. */
export function listNodes(nodes: readonly ScoredNode[], verdict: Verdict, text: string): ScoredNode[] {
  const wanted = text.toLowerCase();
  const listed = nodes.filter((node) => {
    if (verdict !== "all" && node.feasible !== (verdict === "fits")) return false;
    return (
      wanted === "" ||
      node.name.toLowerCase().includes(wanted) ||
      node.rejections.some((found) => `${found.plugin} ${found.reason}`.toLowerCase().includes(wanted))
    );
  });
  return listed.sort(
    (a, b) => Number(b.feasible) - Number(a.feasible) || (b.total ?? 0) - (a.total ?? 0) || (a.name < b.name ? -1 : 1),
  );
}

/** Return the plugins that give any node points, in the order of the first node that has them. */
export function scoringPlugins(nodes: readonly ScoredNode[]): string[] {
  const found = new Set<string>();
  for (const node of nodes) for (const plugin of Object.keys(node.plugins ?? {})) found.add(plugin);
  return [...found].sort();
}
