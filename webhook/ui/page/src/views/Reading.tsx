/** The way to the next reading of the cluster: a button, what changed since, and following it; and what was new. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReadingStatus } from "../api-types";
import type { Client } from "../client";
import type { Changed } from "../model/changed";
import { workloadState, type PageState } from "../model/fragment";
import { count, number } from "../model/words";
import { Link } from "../parts/Link";
import { Name, Notice, Title } from "../parts/text";

/** Milliseconds between two looks at what changed, and while the cluster is being read. */
const LOOK = 3_000;
const LOOK_READING = 500;
/** Workloads that are named of those that changed. */
const MOST_NAMED = 5;

interface Props {
  client: Client;
  /** The reading that the page shows. */
  shown: number;
  /** Called with the number of a newer one. */
  onReading: (reading: number) => void;
}

export function Reading({ client, shown, onReading }: Props) {
  const [status, setStatus] = useState<ReadingStatus | null>(null);
  const [follows, setFollows] = useState(false);
  const latest = useRef({ shown, follows, onReading });
  latest.current = { shown, follows, onReading };
  const controller = useRef<AbortController | null>(null);
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    const aborting = new AbortController();
    controller.current = aborting;
    let timer = 0;
    let looking = false;
    const look = async (refresh: boolean): Promise<void> => {
      looking = true;
      // A file changes by itself no more than a button says; another tab may have read it.
      let pause = 0;
      try {
        if (refresh || !document.hidden) {
          const found = await (refresh ? client.refresh(aborting.signal) : client.reading(aborting.signal));
          setStatus(found);
          if (found.reading !== latest.current.shown) latest.current.onReading(found.reading);
          const due = latest.current.follows && found.changed.length > 0 && found.dueInS === 0 && !isTyping();
          if (due && !found.running) setStatus(await client.refresh(aborting.signal));
          pause = due || found.running ? LOOK_READING : found.watched ? LOOK : 0;
        }
      } catch {
        // What the views ask says that the server is gone.
      }
      looking = false;
      if (!aborting.signal.aborted && pause > 0) timer = window.setTimeout(() => void look(false), pause);
    };
    const onVisible = (): void => {
      if (document.hidden || looking) return;
      clearTimeout(timer);
      void look(false);
    };
    document.addEventListener("visibilitychange", onVisible);
    void look(asked > 0);
    return () => {
      aborting.abort();
      document.removeEventListener("visibilitychange", onVisible);
      clearTimeout(timer);
    };
  }, [client, asked]);
  if (!status?.repeatable) return null;
  const changed = status.changed.map(({ kind, objects }) => count(objects, kind));
  return (
    <span class="reading" data-testid="reading">
      <button
        class="quiet-button"
        data-testid="refresh"
        disabled={status.running}
        onClick={() => {
          setAsked(asked + 1);
        }}
      >
        {status.running ? "Reading…" : "Read again"}
      </button>
      {changed.length > 0 && !status.running && (
        <strong data-testid="changed-since"> {changed.join(", ")} changed since</strong>
      )}
      {status.watched && (
        <label>
          {" "}
          <input
            type="checkbox"
            checked={follows}
            data-testid="follow"
            onChange={(event) => {
              setFollows(event.currentTarget.checked);
            }}
          />{" "}
          Follow changes
        </label>
      )}
      {status.error !== "" && (
        <span class="field-error" role="status" data-testid="reading-error">
          {" "}
          It could not be read again: <Name>{status.error}</Name>
        </span>
      )}
      {status.unwatched.length > 0 && (
        <span class="quiet" data-testid="unwatched">
          {" "}
          Changes are not seen of <Name>{status.unwatched.join(", ")}</Name>
        </span>
      )}
    </span>
  );
}

/** Return whether a person types, who would lose the place. */
function isTyping(): boolean {
  const focused = document.activeElement;
  return focused instanceof HTMLElement && (focused.isContentEditable || focused.matches("input, textarea, select"));
}

/** What a new reading brought. */
export function News({
  changed,
  go,
  onClose,
}: {
  changed: Changed;
  go: (state: PageState) => void;
  onClose: () => void;
}) {
  const { sentences, workloads } = changed;
  if (sentences.length === 0 && workloads.length === 0) return null;
  return (
    <Notice tone="note" title="Since the last reading" testId="news">
      {sentences.length > 0 && <p>{sentences.join("; ")}.</p>}
      {workloads.length > 0 && (
        <ul class="plain">
          {workloads.slice(0, MOST_NAMED).map((workload) => (
            <li key={`${workload.kind}/${workload.namespace}/${workload.name}`}>
              <Link to={workloadState(workload)} go={go}>
                <Title {...workload} />
              </Link>{" "}
              {number(workload.running[0])} → {number(workload.running[1])} with a node
              {workload.pending[0] !== workload.pending[1] &&
                `, ${number(workload.pending[0])} → ${number(workload.pending[1])} pending`}
            </li>
          ))}
          {workloads.length > MOST_NAMED && <li>and {count(workloads.length - MOST_NAMED, "more workload")}</li>}
        </ul>
      )}
      <button class="quiet-button" onClick={onClose}>
        Close
      </button>
    </Notice>
  );
}
