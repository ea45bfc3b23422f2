/** The page of `evenkeel ui`: its frame, and which view is shown. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ReportAbout } from "../api-types";
import { RequestError, type Client } from "../client";
import { changesBetween, type Changed } from "../model/changed";
import { Cluster } from "../model/cluster";
import { decode, encode, START, workloadState, type PageState } from "../model/fragment";
import { CHOICES } from "../model/risk";
import { fragmentOf } from "../model/share";
import { age, count, number, printable } from "../model/words";
import { dropAddress, pushAddress, replaceAddress } from "../parts/address";
import { Frame } from "../parts/Frame";
import { announce } from "../parts/live";
import { asRequestError, useRequest, useSend } from "../parts/request";
import { Failure, Limits, Name, Notice, Waiting } from "../parts/text";
import { About } from "../reports/About";
import { useAudit } from "./audit";
import { ClusterView } from "./ClusterView";
import { useDroppedManifest } from "./OpenManifest";
import { PendingView } from "./PendingView";
import { News, Reading } from "./Reading";
import { Search } from "./Search";
import { WorkloadsView } from "./WorkloadsView";
import { WorkloadView } from "./WorkloadView";

/** What a manifest without a name is called. */
const UNNAMED = "unnamed";
const TITLES: Record<PageState["view"], string> = {
  cluster: "Cluster",
  workloads: "Workloads",
  workload: "Workload",
  pending: "Pending pods",
};
const NAVIGATION: readonly { state: PageState; label: string }[] = [
  { state: START, label: "Cluster" },
  { state: { view: "workloads", filter: "", risk: null }, label: "Workloads" },
  { state: { view: "pending" }, label: "Pending" },
];

interface AppProps {
  client: Client;
  /** The file that holds the answers; absent where a server gives them. */
  saved?: { evenkeel: string; about: ReportAbout; document: { withheld?: readonly string[] } };
}

export function App({ client, saved }: AppProps) {
  const [{ state, ignored }, setRead] = useState(() => decode(location.hash));
  const [reading, setReading] = useState(0);
  const { data: map, error, loading } = useRequest(`cluster ${reading}`, (signal) => client.cluster(signal));
  const [changed, setChanged] = useState<Changed | null>(null);
  const before = useRef<Cluster | null>(null);
  const cluster = useMemo(() => {
    if (!map) return null;
    const read = new Cluster(map);
    if (before.current) {
      const found = changesBetween(before.current, read);
      read.arrived = found.arrived;
      setChanged(found);
    }
    before.current = read;
    return read;
  }, [map]);
  useEffect(() => {
    const read = (): void => {
      dropAddress();
      setRead(decode(location.hash));
    };
    window.addEventListener("hashchange", read);
    window.addEventListener("popstate", read);
    return () => {
      window.removeEventListener("hashchange", read);
      window.removeEventListener("popstate", read);
    };
  }, []);
  const go = useCallback((next: PageState, replace = false, stays = false) => {
    const address = encode(next);
    if (replace) replaceAddress(address);
    else pushAddress(address);
    setRead({ state: next, ignored: [] });
    if (!replace && !stays) window.scrollTo(0, 0);
  }, []);
  const [refused, setRefused] = useState<RequestError | null>(null);
  const send = useSend();
  const onManifest = useCallback(
    (text: string) => {
      const fragment = fragmentOf(text);
      if (fragment !== null) {
        const read = decode(fragment);
        go(read.state);
        setRead(read);
        return;
      }
      void send(async (signal) => {
        try {
          const { object, problems } = await client.check(text, signal);
          if (object === null)
            throw new RequestError("This cannot be shown: it is no manifest of one Pod or workload.", 0, problems);
          setRefused(null);
          go({ ...workloadState({ ...object, name: object.name || UNNAMED }, "what-if"), edited: text });
        } catch (failure) {
          if (!signal.aborted) setRefused(asRequestError(failure));
        }
      });
    },
    [client, go, send],
  );
  useDroppedManifest(onManifest);
  const opened = map?.opened ?? "";
  useEffect(() => {
    // A link, or a reload, says itself what is shown.
    if (opened !== "" && location.hash === "") onManifest(opened);
  }, [opened, onManifest]);
  const heading = state.view === "workload" ? printable(state.name) : TITLES[state.view];
  useEffect(() => {
    document.title = `${heading} · Evenkeel`;
    announce(heading);
  }, [heading]);
  const active = state.view === "workload" ? "workloads" : state.view;
  return (
    <Frame
      navigation={NAVIGATION.map(({ state: target, label }) => ({
        label:
          target.view === "pending" && cluster?.pendingCount ? `${label} (${number(cluster.pendingCount)})` : label,
        href: encode(target),
        current: target.view === active,
        act: () => {
          go(target);
        },
      }))}
      about={
        cluster && (
          <>
            <ClusterAbout cluster={cluster} />
            {client.served && <Reading client={client} shown={cluster.map.reading} onReading={setReading} />}
          </>
        )
      }
      search={cluster && <Search {...{ client, cluster, state, go }} />}
    >
      {saved && (
        <section class="panel" aria-label="Saved view" data-testid="saved-view">
          <p class="lead" data-testid="report-title">
            <strong>
              <Name>{saved.about.title}</Name>
            </strong>
          </p>
          <About about={saved.about} />
          <p class="quiet">
            By Evenkeel {saved.evenkeel}. The file has what was found when it was written, and asks no server for more.
          </p>
          <Limits title="What this file assumes and leaves out" items={saved.document.withheld ?? []} />
        </section>
      )}
      {state.view !== "workload" && <h1>{TITLES[state.view]}</h1>}
      {ignored.length > 0 && (
        <Notice tone="warning" title="The link has parts that this page does not understand.">
          Left out: {ignored.join(", ")}.
        </Notice>
      )}
      {cluster && missing(state, cluster).length > 0 && (
        <Notice tone="warning" title="This cluster does not have all that the link names." testId="missing">
          Left out: {missing(state, cluster).join(", ")}.
        </Notice>
      )}
      {error && <Failure error={error} />}
      {refused && <Failure error={refused} />}
      {changed && (
        <News
          changed={changed}
          go={go}
          onClose={() => {
            setChanged(null);
          }}
        />
      )}
      {loading && !cluster && <Waiting>Reading the cluster…</Waiting>}
      {cluster && <View key={cluster.map.reading} {...{ client, cluster, state, go, onManifest }} />}
    </Frame>
  );
}

/** Return what a link names that this cluster does not have; actions on nodes are refused by the server. */
function missing(state: PageState, cluster: Cluster): string[] {
  if (state.view === "workloads")
    return state.risk !== null && !CHOICES.some(({ choice }) => choice === state.risk) ? [`risk ${state.risk}`] : [];
  if (state.view !== "cluster") return [];
  const { rows, node, highlight } = state;
  return [
    ...(rows !== null && !cluster.map.topologyKeys.includes(rows) ? [`label ${printable(rows)}`] : []),
    ...(node !== null && cluster.positionOf(node) < 0 ? [`node ${printable(node)}`] : []),
    ...(highlight && cluster.find(highlight) < 0 ? [printable(`${highlight.namespace}/${highlight.name}`)] : []),
  ];
}

interface ViewProps {
  client: Client;
  cluster: Cluster;
  state: PageState;
  go: (state: PageState, replace?: boolean, stays?: boolean) => void;
  onManifest: (text: string) => void;
}

function View({ client, cluster, state, go, onManifest }: ViewProps) {
  const audit = useAudit(client);
  switch (state.view) {
    case "cluster":
      return <ClusterView audit={audit} client={client} cluster={cluster} state={state} go={go} />;
    case "workloads":
      return <WorkloadsView audit={audit} {...{ client, cluster, state, go, onManifest }} />;
    case "pending":
      return <PendingView client={client} cluster={cluster} go={go} />;
    case "workload":
      return (
        <WorkloadView
          key={`${state.kind}/${state.namespace}/${state.name}`}
          client={client}
          cluster={cluster}
          state={state}
          go={go}
        />
      );
  }
}

/** Milliseconds after which the age of the cluster is shown anew. */
const TICK = 15_000;

function ClusterAbout({ cluster }: { cluster: Cluster }) {
  const { source, kubernetesVersion } = cluster.map;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, TICK);
    return () => {
      clearInterval(timer);
    };
  }, []);
  const live = source.kind === "live";
  const read = age(source.readAt, now);
  return (
    <>
      <span title={source.readAt}>
        {live ? "Live cluster" : "Snapshot"} <Name>{source.name}</Name>
        {read && `, ${live ? "read" : "written"} ${read}`}
      </span>
      <span>Kubernetes {kubernetesVersion}</span>
      <span data-testid="size">
        {count(cluster.names.length, "node")}, {count(cluster.podCount, "pod")},{" "}
        {count(cluster.workloads.length, "workload")}
      </span>
    </>
  );
}
