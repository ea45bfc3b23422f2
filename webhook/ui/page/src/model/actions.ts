/** What happens to nodes in a what-if: as the API takes it, as a link writes it, and in words. */
import {
  MOST_ADDED,
  MOST_KEY,
  MOST_LABELS,
  MOST_TAINTS,
  TAINT_EFFECTS,
  type AddedNodes,
  type NodeLabel,
  type SuggestedChange,
  type Event as ScenarioEvent,
} from "../api-types";
import type { Cluster } from "./cluster";
import { shortKey } from "./words";

/** What happens to nodes. */
export type NodeEvent = Omit<ScenarioEvent, "apply" | "remove" | "scale" | "restart" | "delete" | "evict" | "release">;

/** Return an action as a link has it: its parts, joined by colons. */
export function encodeAction(action: NodeEvent): string {
  const parts = encodeParts(action);
  return parts.map((part) => part.replace(/[%:]/g, encodeURIComponent)).join(":");
}

function encodeParts(action: NodeEvent): string[] {
  if (action.lose)
    return [action.lose.unreachable === true ? "outage" : "lose", action.lose.topologyKey, action.lose.value];
  if (action.drain !== undefined) return ["drain", action.drain];
  if (action.cordon !== undefined) return ["cordon", action.cordon];
  if (action.uncordon !== undefined) return ["uncordon", action.uncordon];
  if (action.untaint)
    return [
      "untaint",
      action.untaint.node,
      action.untaint.key,
      ...(action.untaint.effect ? [action.untaint.effect] : []),
    ];
  if (action.label) return ["label", action.label.node, action.label.key, action.label.value ?? ""];
  if (action.taint)
    return ["taint", action.taint.node, action.taint.key, action.taint.value ?? "", action.taint.effect];
  if (action.add)
    return [
      "add",
      action.add.like,
      String(action.add.count ?? 1),
      ...(action.add.withoutTaints ?? []),
      ...(action.add.labels ?? []).map(({ key, value }) => `${key}=${value}`),
    ];
  return [];
}

/** Return the action of a link; null if it is none. */
export function decodeAction(text: string): NodeEvent | null {
  let parts: string[];
  try {
    parts = text.split(":").map((part) => decodeURIComponent(part));
  } catch {
    return null;
  }
  const [verb, first = "", second = "", value = "", effect = ""] = parts;
  if (first === "" || parts.some((part) => part.length > MOST_KEY)) return null;
  switch (verb) {
    case "lose":
    case "outage":
      if (parts.length !== 3) return null;
      return { lose: { topologyKey: first, value: second, ...(verb === "outage" ? { unreachable: true } : {}) } };
    case "drain":
      return parts.length === 2 ? { drain: first } : null;
    case "cordon":
      return parts.length === 2 ? { cordon: first } : null;
    case "uncordon":
      return parts.length === 2 ? { uncordon: first } : null;
    case "untaint": {
      const known = TAINT_EFFECTS.find((name) => name === value);
      if (second === "" || (parts.length !== 3 && !(known && parts.length === 4))) return null;
      return { untaint: { node: first, key: second, ...(known ? { effect: known } : {}) } };
    }
    case "label":
      return second !== "" && parts.length === 4 ? { label: { node: first, key: second, value } } : null;
    case "taint": {
      const known = TAINT_EFFECTS.find((name) => name === effect);
      return known && second !== "" && parts.length === 5
        ? { taint: { node: first, key: second, value, effect: known } }
        : null;
    }
    case "add": {
      const count = Number(second);
      // No key has an equals sign.
      const withoutTaints = parts.slice(3).filter((part) => !part.includes("="));
      const labels = parts.slice(3).flatMap((part): NodeLabel[] => {
        const at = part.indexOf("=");
        return at < 0 ? [] : [{ key: part.slice(0, at), value: part.slice(at + 1) }];
      });
      const valid = parts.length >= 3 && Number.isInteger(count) && count >= 1 && count <= MOST_ADDED;
      const many = withoutTaints.length > MOST_TAINTS || labels.length > MOST_LABELS;
      if (!valid || many || withoutTaints.includes("") || labels.some(({ key }) => key === "")) return null;
      return { add: added(first, count, withoutTaints, labels) };
    }
    default:
      return null;
  }
}

function added(like: string, count: number, withoutTaints: string[], labels: NodeLabel[]): AddedNodes {
  return { like, count, ...(withoutTaints.length ? { withoutTaints } : {}), ...(labels.length ? { labels } : {}) };
}

/** An action in words around a name of the cluster, which is shown apart from the text. */
export interface ActionWords {
  before: string;
  name: string;
  after: string;
}

/** Return an action in words. */
export function actionWords(action: NodeEvent): ActionWords {
  if (action.lose) {
    const after = action.lose.unreachable === true ? " is unreachable" : "";
    return { before: after ? "" : "Lose ", name: `${shortKey(action.lose.topologyKey)}=${action.lose.value}`, after };
  }
  if (action.drain !== undefined) return { before: "Drain ", name: action.drain, after: "" };
  if (action.cordon !== undefined) return { before: "Cordon ", name: action.cordon, after: "" };
  if (action.taint) {
    const { node, key, value, effect } = action.taint;
    return { before: "Taint ", name: node, after: ` with ${key}${value ? `=${value}` : ""}:${effect}` };
  }
  if (action.uncordon !== undefined) return { before: "Uncordon ", name: action.uncordon, after: "" };
  if (action.untaint) {
    const { node, key, effect } = action.untaint;
    return { before: "Remove from ", name: node, after: ` the taint ${key}${effect ? `:${effect}` : ""}` };
  }
  if (action.label)
    return { before: "Label ", name: action.label.node, after: ` with ${action.label.key}=${action.label.value}` };
  const { count = 1, like = "", withoutTaints, labels } = action.add ?? {};
  const after = [
    ...(labels?.length ? [` with ${labels.map(({ key, value }) => `${key}=${value}`).join(", ")}`] : []),
    ...(withoutTaints?.length ? [` without the taint ${withoutTaints.join(", ")}`] : []),
  ].join("");
  return { before: `Add ${count} ${count === 1 ? "node" : "nodes"} like `, name: like, after };
}

/** Return an action in words as one text. */
export function actionSentence(action: NodeEvent): string {
  const { before, name, after } = actionWords(action);
  return `${before}${name}${after}`;
}

/** Return the option of `evenkeel what-if` for an action; whether a domain is unreachable is said of all. */
export function actionOptions(action: NodeEvent): string {
  if (action.lose) {
    const outage = action.lose.unreachable === true ? " --unreachable" : "";
    return `--lose ${quoted(`${action.lose.topologyKey}=${action.lose.value}`)}${outage}`;
  }
  if (action.drain !== undefined) return `--drain ${quoted(action.drain)}`;
  if (action.cordon !== undefined) return `--cordon ${quoted(action.cordon)}`;
  if (action.uncordon !== undefined) return `--uncordon ${quoted(action.uncordon)}`;
  if (action.taint) {
    const { node, key, value, effect } = action.taint;
    return `--taint ${quoted(`${node} ${key}${value ? `=${value}` : ""}:${effect}`)}`;
  }
  if (action.untaint) {
    const { node, key, effect } = action.untaint;
    return `--taint ${quoted(`${node} ${key}${effect ? `:${effect}` : ""}-`)}`;
  }
  if (action.label) {
    const { node, key, value } = action.label;
    return `--label ${quoted(`${node} ${key}${value == null ? "-" : `=${value}`}`)}`;
  }
  const { count = 1, like = "", withoutTaints, labels } = action.add ?? {};
  const words = [
    `${count} like ${like}`,
    ...(labels ?? []).map(({ key, value }) => `with ${key}=${value}`),
    ...(withoutTaints ?? []).map((key) => `without ${key}`),
  ];
  return `--add ${quoted(words.join(" "))}`;
}

/** Return the actions that a suggested change of the cluster comes to, or why none do. */
export function suggestedActions({ kinds, edits, inCluster }: SuggestedChange, cluster: Cluster): NodeEvent[] | string {
  if (!inCluster) return edits.length > 0 ? [] : "It is changed where it is defined, which this page cannot try.";
  const [node] = inCluster.nodes;
  const { key, value, count, withoutTaints } = inCluster;
  if (node !== undefined && kinds.includes("cordon")) return [{ uncordon: node }];
  if (node !== undefined && kinds.includes("nodeLabel") && key !== null && value !== null)
    return [{ label: { node, key, value } }];
  if (node === undefined || !kinds.includes("newNode"))
    return kinds.includes("termination")
      ? "It is only a matter of time: pods that are being deleted hold the room."
      : "A what-if changes nodes, and no volumes, claims or classes: this cannot be tried here.";
  const there = cluster.domainOf(cluster.positionOf(node), key ?? "");
  if (key === null || key === "" || value === there) return [{ add: added(node, count, withoutTaints, []) }];
  if (value !== null) return [{ add: added(node, count, withoutTaints, [{ key, value }]) }];
  // Each in a domain of its own.
  return newDomains(cluster, key, count).map((name) => ({
    add: added(node, 1, withoutTaints, [{ key, value: name }]),
  }));
}

/** Return names of domains that there are not yet. */
function newDomains(cluster: Cluster, key: string, count: number): string[] {
  const known = new Set(cluster.map.nodes.labels[key]?.values);
  const names: string[] = [];
  for (let at = 1; names.length < count; at += 1) if (!known.has(`new-${at}`)) names.push(`new-${at}`);
  return names;
}

/** Return a word as a POSIX shell takes it. */
export function quoted(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
