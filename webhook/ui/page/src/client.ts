/** Talks to the server of `evenkeel ui`: JSON, with the token of the address, and nothing else. */
import type {
  AuditProgress,
  CheckAnswer,
  ClusterMap,
  EditedManifest,
  ExplainAnswer,
  FoundPods,
  NodeDetail,
  PageError,
  PatchAnswer,
  PatchBody,
  PendingAnswer,
  PlayedWhatIf,
  ReadingStatus,
  SavedReport,
  ShownBody,
  ScoreAnswer,
  SuggestBody,
  WhatIfBody,
  WorkloadDetail,
} from "./api-types";
import type { WorkloadKey } from "./model/fragment";
import { askOfCluster, lossOf } from "./model/whatif";

const TOKEN = "evenkeel-token";

/** An answer that is an error. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly problems: PageError["problems"],
  ) {
    super(message);
  }
}

/** The channel on which tabs of this origin, port and all, give each other the token. */
const CHANNEL = "evenkeel";
/** Milliseconds that another tab has to answer. */
const PATIENCE = 500;

/**
 * Return the token, which the address brings once; a reload of the tab keeps it, and a new tab is given it by one that
 * has it.
 */
export async function takeToken(): Promise<string> {
  const url = new URL(location.href);
  const brought = url.searchParams.get("token");
  if (brought !== null) {
    url.searchParams.delete("token");
    history.replaceState(null, "", url);
  }
  const token = brought ?? sessionStorage.getItem(TOKEN) ?? (await askOtherTabs());
  if (token === "") return "";
  sessionStorage.setItem(TOKEN, token);
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener("message", (event: MessageEvent<unknown>) => {
    if (event.data === "token?") channel.postMessage({ token });
  });
  return token;
}

function askOtherTabs(): Promise<string> {
  const channel = new BroadcastChannel(CHANNEL);
  return new Promise<string>((done) => {
    const end = (token: string): void => {
      clearTimeout(timer);
      channel.close();
      done(token);
    };
    const timer = setTimeout(() => {
      end("");
    }, PATIENCE);
    channel.addEventListener("message", (event: MessageEvent<{ token?: unknown } | string>) => {
      if (typeof event.data === "object" && typeof event.data.token === "string") end(event.data.token);
    });
    channel.postMessage("token?");
  });
}

/** The request that an answer was given to: its path, and its body if it has one. */
const ASKED = new WeakMap<object, string>();

/** Return the request of an answer; null for what no server answered. */
export function requestOf(answer: object): string | null {
  return ASKED.get(answer) ?? null;
}

/** Return what identifies a request. */
function requestKey(path: string, body?: object): string {
  return body ? `${path} ${JSON.stringify(body)}` : path;
}

const WHAT_IF = "/api/what-if";
/** Answers to what-ifs that are kept; those of large clusters have a number for each pod that moves. */
const MOST_KEPT = 64;

/** Return the loss of each domain as the answer to what asks for it alone. */
function lossesOf({ autoscale }: WhatIfBody, { outcome, moved }: PlayedWhatIf): [string, PlayedWhatIf][] {
  return outcome.outcomes.flatMap((lost, at): [string, PlayedWhatIf][] => {
    const [lose, pods] = [lost.scenario.events.at(-1)?.lose, moved[at]];
    if (!lose || !pods || outcome.scenario.events.length > 0) return [];
    const body = askOfCluster([{ lose: lossOf(lose) }], autoscale ? { name: "", documents: autoscale } : null);
    return [[requestKey(WHAT_IF, body), { outcome: lost, moved: [pods], own: null }]];
  });
}

export class Client {
  /** Whether a server answers what is not recorded. */
  readonly served: boolean = true;
  /** The reading of the cluster that requests are about; 0 before there is one. */
  private shown = 0;
  /** What-ifs that were answered, the last ones. */
  private readonly played = new Map<string, PlayedWhatIf>();

  constructor(private readonly token: string) {}

  /** Return the address of the page with its token and a fragment. */
  link(fragment: string): string {
    return `${location.origin}/?token=${encodeURIComponent(this.token)}${fragment}`;
  }

  /** Return whether there is an answer to a what-if. */
  answers(body: WhatIfBody): boolean {
    return this.served || this.played.has(requestKey(WHAT_IF, body));
  }

  async cluster(signal: AbortSignal): Promise<ClusterMap> {
    this.shown = 0;
    this.played.clear();
    const map = await this.send<ClusterMap>("/api/cluster", signal);
    this.shown = map.reading;
    return map;
  }

  reading(signal: AbortSignal): Promise<ReadingStatus> {
    return this.send("/api/reading", signal);
  }

  refresh(signal: AbortSignal): Promise<ReadingStatus> {
    return this.send("/api/refresh", signal, {});
  }

  workloads(after: number, signal: AbortSignal): Promise<AuditProgress> {
    return this.send(`/api/workloads?after=${after}`, signal);
  }

  workload(key: WorkloadKey, signal: AbortSignal): Promise<WorkloadDetail> {
    const { kind, namespace, name } = key;
    return this.send(`/api/workload?${new URLSearchParams({ kind, namespace, name }).toString()}`, signal);
  }

  node(name: string, signal: AbortSignal): Promise<NodeDetail> {
    return this.send(`/api/node?${new URLSearchParams({ name }).toString()}`, signal);
  }

  pods(name: string, signal: AbortSignal): Promise<FoundPods> {
    return this.send(`/api/pods?${new URLSearchParams({ name }).toString()}`, signal);
  }

  pending(signal: AbortSignal): Promise<PendingAnswer> {
    return this.send("/api/pending", signal);
  }

  open(manifest: string, signal: AbortSignal): Promise<WorkloadDetail> {
    return this.send("/api/open", signal, { manifest });
  }

  check(manifest: string, signal: AbortSignal): Promise<CheckAnswer> {
    return this.send("/api/check", signal, { manifest });
  }

  explain(manifest: string, signal: AbortSignal): Promise<ExplainAnswer> {
    return this.send("/api/explain", signal, { manifest });
  }

  score(manifest: string, signal: AbortSignal): Promise<ScoreAnswer> {
    return this.send("/api/score", signal, { manifest });
  }

  /** Return what comes of a what-if; what was answered about this reading of the cluster is there at once. */
  async whatIf(body: WhatIfBody, signal: AbortSignal): Promise<PlayedWhatIf> {
    const key = requestKey(WHAT_IF, body);
    const found = this.played.get(key) ?? (await this.send<PlayedWhatIf>(WHAT_IF, signal, body));
    this.keep(key, found);
    // Each loss of a domain is a what-if of its own.
    for (const [loss, answer] of lossesOf(body, found)) if (!this.played.has(loss)) this.keep(loss, answer);
    return found;
  }

  private keep(key: string, answer: PlayedWhatIf): void {
    this.played.delete(key);
    this.played.set(key, answer);
    ASKED.set(answer, key);
    for (const oldest of this.played.keys()) if (this.played.size > MOST_KEPT) this.played.delete(oldest);
  }

  suggest(body: SuggestBody, signal: AbortSignal): Promise<EditedManifest> {
    return this.send("/api/suggest", signal, body);
  }

  patch(body: PatchBody, signal: AbortSignal): Promise<PatchAnswer> {
    return this.send("/api/patch", signal, body);
  }

  savedView(body: ShownBody, signal: AbortSignal): Promise<SavedReport> {
    return this.send("/api/shown", signal, body);
  }

  private async send<T>(path: string, signal: AbortSignal, body?: object): Promise<T> {
    const answer = await this.ask<T & object>(path, signal, body);
    ASKED.set(answer, requestKey(path, body));
    return answer;
  }

  protected async ask<T>(path: string, signal: AbortSignal, body?: object): Promise<T> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    // How the next reading goes is asked of any.
    if (this.shown && path !== "/api/reading" && path !== "/api/refresh")
      headers["Evenkeel-Reading"] = String(this.shown);
    if (body) headers["Content-Type"] = "application/json";
    let response: Response;
    try {
      response = await fetch(path, {
        signal,
        headers,
        ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
      });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new RequestError(
        "The server does not answer: is evenkeel ui still running? Start it again and open the link that it prints.",
        0,
        [],
      );
    }
    if (response.ok) return (await response.json()) as T;
    if (response.status === 401)
      throw new RequestError("This tab has no valid token: open the link that evenkeel ui prints.", 401, []);
    const answer = (await response.json().catch(() => null)) as Partial<PageError> | null;
    throw new RequestError(
      answer?.error ?? `The server answered with status ${response.status}.`,
      response.status,
      answer?.problems ?? [],
    );
  }
}

/** Answers by what they were asked for. */
export type Recording = Readonly<Record<string, object>>;

/** Gives the answers that a saved view holds. */
export class RecordedClient extends Client {
  override readonly served = false;

  constructor(private readonly recording: Recording) {
    super("");
  }

  override answers(body: WhatIfBody): boolean {
    return super.answers(body) || requestKey(WHAT_IF, body) in this.recording;
  }

  protected override ask<T>(path: string, _signal: AbortSignal, body?: object): Promise<T> {
    const answer = this.recording[requestKey(path, body)];
    if (answer !== undefined) return Promise.resolve(answer as T);
    const words = "This file does not have that: it holds what was found when it was written. evenkeel ui shows more.";
    return Promise.reject(
      new RequestError(words, 0, [{ line: 0, field: "", rule: "", severity: "note", message: words }]),
    );
  }
}
