/** One workload: how it is spread, every node, what if, its rollout and its manifest; all of them of one copy. */
import { useCallback, useRef, useState } from "preact/hooks";
import type { ExplainAnswer, FieldEdit, HelpfulChange, WorkloadDetail } from "../api-types";
import type { NodeEvent } from "../model/actions";
import type { Client, RequestError } from "../client";
import type { Cluster } from "../model/cluster";
import { encode, MOST_EDITED, START, TABS, type PageState, type Tab, type WorkloadState } from "../model/fragment";
import { actionSentence, suggestedActions } from "../model/actions";
import type { Picture } from "../model/picture";
import { asSentence, isSame } from "../model/outcome";
import { askOfWorkload, evictionsCommand, isAsked, whatIfCommand } from "../model/whatif";
import { shortKind } from "../model/words";
import { announce } from "../parts/live";
import { Link } from "../parts/Link";
import { Menu } from "../parts/Menu";
import { asRequestError, useRequest, useSend } from "../parts/request";
import { fileName, saveText } from "../parts/save";
import { Failure, Limits, Name, Notice, Waiting } from "../parts/text";
import { useTheme } from "../parts/theme";
import { CopyBar } from "./CopyBar";
import { ManifestPanel } from "./ManifestPanel";
import { NodesPanel } from "./NodesPanel";
import { OutcomeSummary, OutcomeView, waysOf, type Ways } from "./OutcomeView";
import { usePlayed, type Played } from "./played";
import { saveView } from "./savedView";
import { pictureChoices } from "./SaveView";
import { SpreadPanel } from "./SpreadPanel";
import { StepsPlayer } from "./StepsPlayer";
import { WhatIfPanel } from "./WhatIfPanel";
import { RunningMap } from "./WorkloadMap";
import { workloadPicture } from "./workloadPicture";

interface Props {
  client: Client;
  cluster: Cluster;
  state: WorkloadState;
  go: (state: PageState, replace?: boolean, stays?: boolean) => void;
}

/** The status of an answer about what the cluster does not have. */
const NOT_FOUND = 404;
const LABELS: Record<Tab, string> = {
  spread: "Spread",
  nodes: "Nodes",
  "what-if": "What if",
  rollout: "Rollout",
  manifest: "Manifest",
};

export function WorkloadView(props: Props) {
  const { client, cluster, state, go } = props;
  const { data: detail, error } = useRequest("detail", async (signal) => {
    // A manifest of a person's own may be of nothing in the cluster, whose Pods are not listed.
    if (state.edited !== null && state.kind !== "Pod" && cluster.find(state) < 0)
      return client.open(state.edited, signal);
    try {
      return await client.workload(state, signal);
    } catch (failure) {
      if (state.edited === null || asRequestError(failure).status !== NOT_FOUND) throw failure;
      return client.open(state.edited, signal);
    }
  });
  return (
    <>
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to={{ view: "workloads", filter: "", risk: null }} go={go}>
          Workloads
        </Link>
        <span aria-hidden="true"> / </span>
        <Name>{state.namespace}</Name>
      </nav>
      <h1 data-testid="workload-title">
        <span class="kind">{shortKind(state.kind)}</span> <Name>{state.name}</Name>
      </h1>
      {error && <Failure error={error} />}
      {!detail && !error && <Waiting>Explaining where its next pod goes…</Waiting>}
      {detail && <Loaded {...props} detail={detail} />}
    </>
  );
}

function Loaded({ client, cluster, state, go, detail }: Props & { detail: WorkloadDetail }) {
  const manifest = state.edited ?? detail.manifest;
  const edited = state.edited !== null;
  // While it is typed it may be no manifest at all: the check says so, at the line.
  const typing = state.tab === "manifest";
  const explained = useRequest(edited && !typing ? manifest : null, (signal) => client.explain(manifest, signal));
  // What cannot be read has no numbers, least of all those of the original.
  const explain = edited ? explained.data : detail.explain;
  const [failed, setFailed] = useState<RequestError | null>(null);
  const send = useSend();
  // As it is now: what an answer changes is added to what the person changed meanwhile.
  const latest = useRef(state);
  latest.current = state;
  const moved = useRef<Moved>({ names: "", at: 0 });
  const applied = useRef(Promise.resolve());
  // The copies before each change of this visit, the last one at the end.
  const before = useRef<(string | null)[]>([]);
  const change = useCallback(
    (part: Partial<WorkloadState>, replace = isMoved(part, moved.current)) => {
      if ("edited" in part && !replace) before.current.push(latest.current.edited);
      moved.current = { names: Object.keys(part).join(), at: performance.now() };
      latest.current = { ...latest.current, ...part };
      go(latest.current, replace, true);
    },
    [go],
  );
  const onManifest = useCallback(
    (text: string, replace?: boolean) => {
      change({ edited: text === detail.manifest && detail.inCluster ? null : text, step: 0 }, replace);
    },
    [change, detail],
  );
  const onEdit = (edits: FieldEdit[]): void => {
    applied.current = send(async (signal) => {
      try {
        const answer = await client.suggest({ manifest, edits }, signal);
        setFailed(null);
        // Unlike typed letters, two edits are never one.
        onManifest(answer.manifest, false);
        announce("Applied to a copy. Nothing in the cluster has changed.");
      } catch (error) {
        if (!signal.aborted) setFailed(asRequestError(error));
      }
    });
  };
  // Back may have undone some of them.
  while (before.current.length > 0 && before.current.at(-1) === state.edited) before.current.pop();
  const undo =
    before.current.length === 0
      ? null
      : (): void => {
          const last = before.current.pop() ?? null;
          change({ edited: last, step: 0 }, false);
          before.current.pop();
          announce("Undone");
        };
  const problem = edited ? explained.error : null;
  const asked = isAsked(state);
  const restarts = state.tab === "rollout" && !asked && detail.rolledOut;
  const body = askOfWorkload(state, cluster.map.autoscale, restarts);
  // Every tab has its verdict and numbers from this one answer.
  const played = usePlayed(client, cluster, typing || (!client.served && !client.answers(body)) ? null : body);
  const command = whatIfCommand(body, state, cluster.map);
  const ways: Ways = {
    ...waysOf(go, (lost) => ({ ...START, actions: [{ lose: lost }] })),
    onApply: (found) => {
      onEdit(found.edits);
    },
    onTry: (found) => {
      const actions = nodeEvents(found);
      return actions.length === 0
        ? null
        : () => {
            change({ tab: "what-if", actions: [...actions, ...state.actions] });
          };
    },
  };
  return (
    <>
      <div class="toolbar workload-bar">
        <Tabs
          tab={state.tab}
          onTab={(tab) => {
            change({ tab }, false);
          }}
        />
        <Saving
          {...{ client, cluster, state, detail, manifest, explain, played, command }}
          onFail={setFailed}
          settled={async () => {
            await applied.current;
            return latest.current;
          }}
        />
      </div>
      {edited && (
        <CopyBar
          {...{ client, detail, manifest, typing, onEdit }}
          undo={undo}
          onShow={() => {
            change({ tab: "manifest" }, false);
          }}
          onDiscard={() => {
            change({ edited: null, step: 0 }, false);
          }}
        />
      )}
      {edited && state.edited !== null && state.edited.length > MOST_EDITED && (
        <Notice tone="warning" title="This copy is too long for a link.">
          Save the manifest to keep it.
        </Notice>
      )}
      <Limits title="About what is shown here" items={detail.notes} />
      {failed && <Failure error={failed} />}
      {problem && <Failure error={problem} />}
      {!edited && detail.problems.length > 0 && (
        <Notice tone="error" title="The API server would refuse this workload today.">
          <ul>
            {detail.problems.map((found, at) => (
              <li key={at}>
                <code>{found.field}</code>: <Name>{found.message}</Name>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <div
        role="tabpanel"
        id="panel"
        aria-labelledby={`tab-${state.tab}`}
        class={explained.loading && edited ? "stale" : ""}
      >
        {edited && !typing && !explain && !explained.error ? (
          <Waiting>Explaining the copy…</Waiting>
        ) : (
          <Panel
            {...{ client, cluster, state, detail, manifest, explain, change, onEdit, onManifest, edited, go }}
            {...{ played, command, ways }}
          />
        )}
      </div>
    </>
  );
}

/** Return the events of a suggestion where all are about nodes, so that a what-if may have them. */
function nodeEvents({ events }: HelpfulChange): NodeEvent[] {
  const others = ["apply", "remove", "scale", "restart", "delete", "evict", "release"];
  return events.some((event) => Object.keys(event).some((name) => others.includes(name))) ? [] : events;
}

/** What was changed last, and when. */
interface Moved {
  names: string;
  at: number;
}

/** Milliseconds within which changes of the same parts are one: a dragged slider, a typed word. */
const ONE_MOVE = 1000;

/** Return whether a change goes on with the last one, so that Back undoes both; steps of a rollout are none to undo. */
function isMoved(part: Partial<WorkloadState>, last: Moved): boolean {
  const names = Object.keys(part);
  if (names.length === 1 && names[0] === "step") return true;
  const dragged = names.includes("replicas") || (names.includes("edited") && last.names === names.join());
  return dragged && names.join() === last.names && performance.now() - last.at < ONE_MOVE;
}

interface PanelProps {
  client: Client;
  cluster: Cluster;
  state: WorkloadState;
  detail: WorkloadDetail;
  manifest: string;
  explain: ExplainAnswer | null;
  edited: boolean;
  played: Played;
  command: string;
  ways: Ways;
  change: (part: Partial<WorkloadState>) => void;
  onEdit: (edits: FieldEdit[]) => void;
  onManifest: (manifest: string) => void;
  go: (state: PageState) => void;
}

function Panel(props: PanelProps) {
  const { client, cluster, state, detail, manifest, explain, edited, change, onEdit, onManifest, go } = props;
  const { played, command, ways } = props;
  const onStep = useCallback(
    (step: number) => {
      change({ step });
    },
    [change],
  );
  if (state.tab === "manifest") return <ManifestPanel {...{ client, detail, manifest, onManifest }} />;
  if (!explain) return <p>Correct the manifest first: it is in the Manifest tab.</p>;
  switch (state.tab) {
    case "spread":
      return (
        <SpreadPanel
          explain={explain}
          map={
            detail.inCluster && (
              <RunningMap {...{ cluster, detail, go }} workload={state} constraints={explain.constraints} />
            )
          }
          {...(edited ? {} : { evictions: evictionsCommand(state, cluster.map.source) })}
          {...(client.served || played.data ? { outcome: <Summed {...{ played, ways }} state={state} /> } : {})}
          onApply={(found) => {
            onEdit(found.edits);
          }}
          onTry={(found) => {
            const actions = suggestedActions(found, cluster);
            if (typeof actions === "string") return actions;
            return actions.length === 0
              ? null
              : () => {
                  change({ tab: "what-if", actions: [...state.actions, ...actions] });
                };
          }}
        />
      );
    case "nodes":
      return <Scores client={client} manifest={manifest} />;
    case "what-if":
      return <WhatIfPanel {...{ cluster, detail, explain, state, played, command, ways, change, onEdit, go }} />;
    case "rollout":
      return <Rollout {...props} onStep={onStep} />;
  }
}

/** What comes of what is asked, above how the pods are spread. */
function Summed({ played, state, ways }: { played: Played; state: WorkloadState; ways: Ways }) {
  const { data, error, loading } = played;
  if (error) return <Failure error={error} />;
  if (!data) return <Waiting>Playing it…</Waiting>;
  return (
    <div class={`stack outcome ${loading ? "stale" : ""}`} data-testid="outcome">
      <OutcomeSummary outcome={data.outcome} focus={state} ways={ways} />
    </div>
  );
}

/** What happens step by step: the rollout of an edited copy, a restart, or whatever else is asked. */
function Rollout(props: PanelProps & { onStep: (step: number) => void }) {
  const { client, cluster, detail, state, played, ways, onStep, go } = props;
  const { data, error, loading } = played;
  const about = data?.outcome.workloads.find((found) => isSame(found, state));
  if (!detail.inCluster)
    return (
      <Notice tone="note" title="Nothing runs that it would replace.">
        What if says where its replicas go.
      </Notice>
    );
  if (!isAsked(state) && !detail.rolledOut)
    return (
      <Notice tone="note" title="This kind is not rolled out step by step here.">
        Rollouts of Deployments and StatefulSets are simulated.
      </Notice>
    );
  if (error) return <Failure error={error} />;
  if (!data) return client.served ? <Waiting>Rolling out…</Waiting> : <NotInFile />;
  return (
    <div class={loading ? "stale" : ""} aria-busy={loading}>
      {!isAsked(state) && (
        <Notice tone="note" title="The manifest is not edited.">
          This is how kubectl rollout restart would go. Edit the copy in What if or Manifest to roll out a change.
        </Notice>
      )}
      <OutcomeView outcome={data.outcome} focus={state} ways={ways}>
        {about && (
          <StepsPlayer answer={data} {...{ about, cluster, detail, onStep, go }} workload={state} step={state.step} />
        )}
      </OutcomeView>
    </div>
  );
}

/** What a saved view shows where it does not have an answer. */
export function NotInFile() {
  return (
    <Notice tone="note" title="This file does not have that." testId="not-in-file">
      It holds what was found when it was written. evenkeel ui shows more.
    </Notice>
  );
}

function Scores({ client, manifest }: { client: Client; manifest: string }) {
  const { data, error } = useRequest(manifest, (signal) => client.score(manifest, signal));
  if (error) return <Failure error={error} />;
  return data ? <NodesPanel score={data} /> : <Waiting>Scoring every node…</Waiting>;
}

function Tabs({ tab, onTab }: { tab: Tab; onTab: (tab: Tab) => void }) {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length] ?? tab;
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Parts of the workload" onKeyDown={move}>
      {TABS.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          role="tab"
          aria-selected={name === tab}
          aria-controls="panel"
          tabIndex={name === tab ? 0 : -1}
          data-testid={`tab-${name}`}
          onClick={() => {
            onTab(name);
          }}
        >
          {LABELS[name]}
        </button>
      ))}
    </div>
  );
}

/** Milliseconds for which a note on what was copied is shown: long enough to be read. */
const READ = 8000;

/** Return what is asked of a workload, in words; empty where that is nothing. */
export function askedWords({ edited, replicas, actions }: WorkloadState): string {
  return [
    ...(edited === null ? [] : ["an edited copy is rolled out"]),
    ...(replicas === null ? [] : [`${replicas} replicas`]),
    ...actions.map(actionSentence),
  ].join(", ");
}

interface SavingProps {
  client: Client;
  cluster: Cluster;
  state: WorkloadState;
  detail: WorkloadDetail;
  manifest: string;
  explain: ExplainAnswer | null;
  played: Played;
  command: string;
  onFail: (error: RequestError | null) => void;
  /** Return the state once the edits on their way are in it. */
  settled: () => Promise<WorkloadState>;
}

function Saving(props: SavingProps) {
  const { client, cluster, state, detail, manifest, explain, played, command, onFail, settled } = props;
  const theme = useTheme();
  const send = useSend();
  const [copied, setCopied] = useState(false);
  const name = fileName(shortKind(state.kind).toLowerCase(), state.namespace, state.name);
  const guarded = (act: (signal: AbortSignal) => Promise<void>): void => {
    void send(async (signal) => {
      try {
        await act(signal);
        onFail(null);
      } catch (error) {
        if (!signal.aborted) onFail(asRequestError(error));
      }
    });
  };
  const outcome = played.data?.outcome ?? null;
  const picture = (signal: AbortSignal): Promise<Picture> =>
    workloadPicture({ client, cluster, state, detail, manifest, theme, answer: played.data }, signal);
  return (
    <div class="saving">
      <button
        disabled={!client.served}
        data-testid="copy-link"
        title="Opens this view on this machine"
        onClick={() => {
          guarded(async () => {
            await navigator.clipboard.writeText(client.link(encode(await settled())));
            setCopied(true);
            announce("Link copied");
            setTimeout(() => {
              setCopied(false);
            }, READ);
          });
        }}
      >
        {copied ? "Copied" : "Copy link"}
      </button>
      {copied && (
        <p class="link-note quiet" data-testid="link-note">
          The link opens this on this machine alone, as long as evenkeel ui runs, and has its token
          {state.edited !== null && " and the edited manifest"}. For others, save the view (HTML), or send what follows
          the # of the link: they open it over their own cluster (Workloads, Open).
        </p>
      )}
      <Menu
        label="Save"
        testId="save"
        choices={[
          {
            label: "This view (HTML)",
            testId: "save-report",
            disabled: !explain || !client.served || played.loading,
            act: () => {
              guarded(async (signal) => {
                const title = `${shortKind(state.kind)} ${state.namespace}/${state.name}`;
                const verdict = outcome ? asSentence(outcome.verdict.sentence) : "";
                const body = { title, action: askedWords(state), verdict, command };
                saveView(`${name}-${state.tab}`, await client.savedView(body, signal), state, null);
              });
            },
          },
          {
            label: "Manifest (YAML)",
            act: () => {
              saveText(`${name}.yaml`, "application/yaml", manifest);
            },
          },
          {
            label: "Patch for kubectl (YAML)",
            disabled: manifest === detail.manifest,
            testId: "save-patch",
            act: () => {
              guarded(async (signal) => {
                const answer = await client.patch({ original: detail.manifest, manifest }, signal);
                saveText(`${name}-patch.yaml`, "application/yaml", answer.mergePatch);
              });
            },
          },
          {
            label: "JSON patch",
            disabled: manifest === detail.manifest,
            act: () => {
              guarded(async (signal) => {
                const answer = await client.patch({ original: detail.manifest, manifest }, signal);
                saveText(`${name}-patch.json`, "application/json", JSON.stringify(answer.jsonPatch, null, 2));
              });
            },
          },
          {
            label: "Explanation (JSON)",
            disabled: !explain,
            act: () => {
              saveText(`${name}-explain.json`, "application/json", JSON.stringify(explain, null, 2));
            },
          },
          {
            label: "What if (JSON)",
            disabled: !outcome,
            act: () => {
              saveText(`${name}-what-if.json`, "application/json", JSON.stringify(outcome, null, 2));
            },
          },
          ...pictureChoices(name, picture, guarded),
        ]}
      />
    </div>
  );
}
