/** A field that finds workloads, nodes and pods by their names. */
import type { ComponentChildren } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { MOST_NAME, type FoundPod } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { START, workloadState, type PageState } from "../model/fragment";
import { Names } from "../model/search";
import { count } from "../model/words";
import { useRequest } from "../parts/request";
import { Name, Title } from "../parts/text";

interface Props {
  client: Client;
  cluster: Cluster;
  state: PageState;
  go: (state: PageState) => void;
}

/** Characters from which pods are looked for: fewer are in the names of most. */
const LEAST_TYPED = 2;
/** Milliseconds that the search for pods waits for a further character. */
const PAUSE = 150;

/** Something that is found, and the page that shows it. */
interface Finding {
  key: string;
  shown: ComponentChildren;
  to: PageState;
}

export function Search({ client, cluster, state, go }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const names = useMemo(() => new Names(cluster), [cluster]);
  const wanted = text.trim();
  const { data, error, loading } = useRequest(
    wanted.length >= LEAST_TYPED ? wanted : null,
    (signal) => client.pods(wanted, signal),
    PAUSE,
  );
  const map = state.view === "cluster" ? state : START;
  const onNode = (node: string): PageState => ({ ...map, node });
  const podPage = ({ node, workload, namespace, name }: FoundPod): PageState => {
    const key = cluster.workloads[workload] ?? null;
    if (node !== "") return { ...map, node, highlight: key };
    return workloadState(key ?? { kind: "Pod", namespace, name });
  };
  const groups: readonly { label: string; findings: readonly Finding[] }[] = [
    {
      label: "Workloads",
      findings: names.workloadsOf(wanted).map((key) => ({
        key: `${key.kind}/${key.namespace}/${key.name}`,
        shown: <Title {...key} />,
        // On the map a workload is where its pods are.
        to: state.view === "cluster" ? { ...state, highlight: key } : workloadState(key),
      })),
    },
    {
      label: "Nodes",
      findings: names.nodesOf(wanted).map((node) => ({ key: node, shown: <Name>{node}</Name>, to: onNode(node) })),
    },
    {
      label: "Pods",
      findings: (data?.pods ?? []).map((pod) => ({
        key: `${pod.namespace}/${pod.name}`,
        shown: (
          <>
            <Name>{`${pod.namespace}/${pod.name}`}</Name>{" "}
            <span class="quiet">{pod.node === "" ? "pending" : <Name>{`on ${pod.node}`}</Name>}</span>
          </>
        ),
        to: podPage(pod),
      })),
    },
  ].filter(({ findings }) => findings.length > 0);
  const all = groups.flatMap(({ findings }) => findings);
  const pick = (finding: Finding | undefined): void => {
    if (!finding) return;
    setText("");
    go(finding.to);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((at + (event.key === "ArrowDown" ? 1 : -1) + all.length) % Math.max(1, all.length));
    } else if (event.key === "Enter") pick(all[at]);
    else if (event.key === "Escape") setText("");
  };
  return (
    <div class="search" role="search">
      <input
        type="text"
        role="combobox"
        aria-label="Find a workload, node or pod"
        placeholder="Find a workload, node or pod"
        aria-expanded={wanted !== ""}
        aria-controls={wanted === "" ? undefined : id}
        aria-activedescendant={all.length ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={MOST_NAME}
        value={text}
        data-testid="search"
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onBlur={() => {
          setText("");
        }}
        onKeyDown={press}
      />
      {wanted !== "" && (
        <div class="found" data-testid="found">
          <div role="listbox" id={id} aria-label="Found">
            {groups.map(({ label, findings }) => (
              <div key={label} role="group" aria-label={label}>
                <p class="quiet" aria-hidden="true">
                  {label}
                </p>
                {findings.map((finding) => {
                  const position = all.indexOf(finding);
                  return (
                    <div
                      key={finding.key}
                      id={`${id}-${position}`}
                      role="option"
                      aria-selected={position === at}
                      onPointerDown={(event) => {
                        event.preventDefault();
                        pick(finding);
                      }}
                    >
                      {finding.shown}
                    </div>
                  );
                })}
              </div>
            ))}
          </div>
          <p class="quiet" role="status">
            {error
              ? `Pods were not searched: ${error.message}`
              : loading
                ? "Searching pods…"
                : data && data.others > 0
                  ? `and ${count(data.others, "more pod")}: type more of the name`
                  : all.length === 0 && "Nothing has that in its name."}
          </p>
        </div>
      )}
    </div>
  );
}
