/**
 * The state of the page in the fragment of its address, so that a link restores it.
 *
 * A fragment comes from anyone: every part is bounded and checked, and what is not understood is left out and named.
 */
import { MOST_ACTIONS, MOST_KEY, MOST_NAME, MOST_PODS } from "../api-types";
import type { NodeEvent } from "./actions";
import { decodeAction, encodeAction } from "./actions";

/** The parts of a workload's page. */
export const TABS = ["spread", "nodes", "what-if", "rollout", "manifest"] as const;
export type Tab = (typeof TABS)[number];

/** What identifies a workload. */
export interface WorkloadKey {
  kind: string;
  namespace: string;
  name: string;
}

/** What the colors of the map stand for. */
export const COLORS = ["workload", "namespace"] as const;
export type ColorBy = (typeof COLORS)[number];

/** What happens to nodes, with a name that a person gave it; empty for none. */
export interface Scenario {
  name: string;
  actions: readonly NodeEvent[];
}

export interface ClusterState extends Scenario {
  view: "cluster";
  /** The topology key of the rows; null for the first. */
  rows: string | null;
  /** Whether nodes are listed in a table in place of the map. */
  table: boolean;
  /** What colors stand for; null for what fits the cluster. */
  colors: ColorBy | null;
  /** The workload that is highlighted. */
  highlight: WorkloadKey | null;
  /** Whether the losses that are listed leave nodes in the API, as an outage does. */
  outage: boolean;
  /** The name of the node that is open; null for none. */
  node: string | null;
  /** The scenario that is compared with this one; null for none. */
  kept: Scenario | null;
}

export interface ListState {
  view: "workloads";
  filter: string;
  risk: string | null;
}

export interface WorkloadState extends WorkloadKey {
  view: "workload";
  tab: Tab;
  /** Replicas that are wanted in the what-if; null for those of the manifest. */
  replicas: number | null;
  actions: readonly NodeEvent[];
  /** Whether the autoscaler adds nodes for pending pods in the what-if. */
  newNodes: boolean;
  /** The edited copy of the manifest; null while it is as in the cluster. */
  edited: string | null;
  /** The step of the rollout that is shown. */
  step: number;
}

export interface PendingState {
  view: "pending";
}

export type PageState = ClusterState | ListState | WorkloadState | PendingState;

/** A state that was read, and the parts of the fragment that were left out. */
export interface ReadState {
  state: PageState;
  ignored: string[];
}

export const START: ClusterState = {
  view: "cluster",
  rows: null,
  table: false,
  colors: null,
  outage: false,
  highlight: null,
  node: null,
  name: "",
  actions: [],
  kept: null,
};
const MOST_FRAGMENT = 64_000;
const MOST_STEP = 100_000;
/** Characters of an edited manifest that a link takes; longer ones are not linked. */
export const MOST_EDITED = 24_000;

/** Return the state of a workload's page as it is first shown. */
export function workloadState(key: WorkloadKey, tab: Tab = "spread"): WorkloadState {
  const { kind, namespace, name } = key;
  const asked = { replicas: null, actions: [], newNodes: false };
  return { view: "workload", kind, namespace, name, tab, ...asked, edited: null, step: 0 };
}

/** Return the fragment of a state, with its #. */
export function encode(state: PageState): string {
  const query = new URLSearchParams();
  let path = state.view as string;
  switch (state.view) {
    case "cluster":
      if (state.rows !== null) query.set("rows", state.rows);
      if (state.table) query.set("as", "table");
      if (state.colors !== null) query.set("colors", state.colors);
      if (state.outage) query.set("losses", "outage");
      if (state.highlight) query.set("highlight", encodeKey(state.highlight));
      if (state.node !== null) query.set("node", state.node);
      if (state.name) query.set("name", state.name);
      for (const action of state.actions) query.append("do", encodeAction(action));
      if (state.kept?.name) query.set("kept-name", state.kept.name);
      for (const action of state.kept?.actions ?? []) query.append("kept", encodeAction(action));
      break;
    case "workloads":
      if (state.filter) query.set("filter", state.filter);
      if (state.risk !== null) query.set("risk", state.risk);
      break;
    case "workload":
      path = `workload/${encodeKey(state)}`;
      if (state.tab !== "spread") query.set("tab", state.tab);
      if (state.replicas !== null) query.set("replicas", String(state.replicas));
      for (const action of state.actions) query.append("do", encodeAction(action));
      if (state.newNodes) query.set("new-nodes", "yes");
      if (state.edited !== null && state.edited.length <= MOST_EDITED) query.set("manifest", state.edited);
      if (state.step > 0) query.set("step", String(state.step));
      break;
    case "pending":
      break;
  }
  const text = query.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

function encodeKey(key: WorkloadKey): string {
  return [key.kind, key.namespace, key.name].map((part) => encodeURIComponent(part)).join("/");
}

/** Return the state of a fragment. */
export function decode(fragment: string): ReadState {
  const ignored: string[] = [];
  if (fragment.length > MOST_FRAGMENT) return { state: START, ignored: ["everything: the link is too long"] };
  const text = fragment.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1));
  const [view, ...rest] = path.split("/");
  const read = new Reader(query, ignored);
  const state = readView(view ?? "", rest.join("/"), read);
  read.finish();
  return { state, ignored };
}

function readView(view: string, rest: string, read: Reader): PageState {
  if (view === "workloads") return { view, filter: read.text("filter") ?? "", risk: read.text("risk") };
  if (view === "pending") return { view };
  if (view === "workload") {
    const key = decodeKey(rest);
    if (key) return readWorkload(key, read);
    read.ignored.push("the workload's name");
    return { view: "workloads", filter: "", risk: null };
  }
  if (view !== "" && view !== "cluster") read.ignored.push("the view");
  const highlight = read.text("highlight", 4 * MOST_NAME);
  const colors = read.text("colors");
  const losses = read.text("losses");
  if (losses !== null && losses !== "outage") read.ignored.push("losses");
  const kept = { name: read.text("kept-name") ?? "", actions: read.actions("kept") };
  return {
    view: "cluster",
    rows: read.text("rows", MOST_KEY),
    table: read.text("as") === "table",
    colors: COLORS.find((name) => name === colors) ?? null,
    outage: losses === "outage",
    highlight: highlight === null ? null : decodeKey(highlight),
    node: read.text("node"),
    name: read.text("name") ?? "",
    actions: read.actions("do"),
    kept: kept.actions.length > 0 ? kept : null,
  };
}

function readWorkload(key: WorkloadKey, read: Reader): WorkloadState {
  const tab = read.text("tab");
  const known = TABS.find((name) => name === tab);
  if (tab !== null && !known) read.ignored.push("tab");
  return {
    ...workloadState(key, known ?? "spread"),
    replicas: read.number("replicas", MOST_PODS),
    actions: read.actions("do"),
    newNodes: read.text("new-nodes") === "yes",
    edited: read.text("manifest", MOST_EDITED),
    step: read.number("step", MOST_STEP) ?? 0,
  };
}

function decodeKey(text: string): WorkloadKey | null {
  try {
    const parts = text.split("/").map((part) => decodeURIComponent(part));
    const [kind, namespace, name] = parts;
    const valid = parts.length === 3 && kind && name && parts.every((part) => part.length <= MOST_NAME);
    return valid && namespace !== undefined ? { kind, namespace, name } : null;
  } catch {
    return null;
  }
}

/** Takes parts of a query and notes those that are not understood. */
class Reader {
  private readonly taken = new Set<string>();

  constructor(
    private readonly query: URLSearchParams,
    readonly ignored: string[],
  ) {}

  text(name: string, most: number = MOST_NAME): string | null {
    this.taken.add(name);
    const value = this.query.get(name);
    if (value === null || value.length <= most) return value;
    this.ignored.push(name);
    return null;
  }

  number(name: string, most: number): number | null {
    const value = this.text(name);
    if (value === null) return null;
    if (/^\d{1,6}$/.test(value) && Number(value) <= most) return Number(value);
    this.ignored.push(name);
    return null;
  }

  actions(name: string): NodeEvent[] {
    this.taken.add(name);
    const texts = this.query.getAll(name);
    const read = texts.slice(0, MOST_ACTIONS).map(decodeAction);
    const known = read.filter((action) => action !== null);
    if (known.length < texts.length) this.ignored.push(`${texts.length - known.length} of the changes of nodes`);
    return known;
  }

  finish(): void {
    for (const name of new Set(this.query.keys())) if (!this.taken.has(name)) this.ignored.push(name.slice(0, 40));
  }
}
