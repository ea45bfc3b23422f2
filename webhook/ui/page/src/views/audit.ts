/** The audit as it comes in: it runs on the server in the background. */
import { useEffect, useState } from "preact/hooks";
import type { AuditedEntry, AuditProgress } from "../api-types";
import type { Client, RequestError } from "../client";
import { asRequestError } from "../parts/request";

export interface Audit {
  workloads: readonly AuditedEntry[];
  audited: number;
  total: number;
  done: boolean;
  /** Workloads without a known number of replicas. */
  unaudited: number;
  /** Why it ended early. */
  failed: RequestError | string | null;
}

const NONE: Audit = { workloads: [], audited: 0, total: 0, done: false, unaudited: 0, failed: null };
/** Milliseconds between two looks at an audit that has nothing new. */
const PAUSE = 500;

export function useAudit(client: Client): Audit {
  const [audit, setAudit] = useState(NONE);
  useEffect(() => {
    const controller = new AbortController();
    const follow = async (): Promise<void> => {
      for (let after = 0; ;) {
        const found = await client.workloads(after, controller.signal);
        after = found.next;
        setAudit((before) => ({
          workloads: found.workloads.length ? [...before.workloads, ...found.workloads] : before.workloads,
          audited: found.audited,
          total: found.total,
          done: found.done,
          unaudited: found.unaudited,
          failed: found.error || null,
        }));
        if (found.done || found.error) return;
        if (found.workloads.length === 0) await new Promise((resume) => setTimeout(resume, PAUSE));
      }
    };
    follow().catch((error: unknown) => {
      if (!controller.signal.aborted) setAudit((before) => ({ ...before, done: true, failed: asRequestError(error) }));
    });
    return () => {
      controller.abort();
    };
  }, [client]);
  return audit;
}

/** Return an audit as the answer to its first request, as far as it is; what is missing is said as its error. */
export function auditAnswer({
  workloads,
  audited,
  total,
  done,
  unaudited,
  failed,
}: Audit): [request: string, answer: AuditProgress] {
  const error =
    typeof failed === "string" ? failed : (failed?.message ?? (done ? "" : "It was saved before it was done."));
  return [
    "/api/workloads?after=0",
    { done: true, error, audited, total, next: workloads.length, unaudited, workloads: [...workloads] },
  ];
}
