/** What-ifs of the whole cluster that were answered, so that one that is gone back to is there at once. */
import type { NodeEvent, ClusterOutcome } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { movesOf } from "../model/moves";
import { useRequest, type Request } from "../parts/request";

/** Answers that are kept of a cluster; those of large ones have a number for each displaced pod. */
const MOST_KEPT = 16;
const ANSWERED = new WeakMap<Cluster, Map<string, ClusterOutcome>>();

/** Return the effect of actions, by the server or as it answered before. */
export async function disrupt(
  client: Client,
  cluster: Cluster,
  actions: readonly NodeEvent[],
  signal: AbortSignal,
): Promise<ClusterOutcome> {
  const answered = ANSWERED.get(cluster) ?? new Map<string, ClusterOutcome>();
  ANSWERED.set(cluster, answered);
  const key = JSON.stringify(actions);
  let found = answered.get(key);
  if (!found) {
    found = await client.disrupt({ actions: [...actions] }, signal);
    // What is made of many pods gets a task of its own, so that what a person does meanwhile is answered.
    await nextTask();
    movesOf(cluster, found);
    await nextTask();
  }
  answered.delete(key);
  answered.set(key, found);
  for (const oldest of answered.keys()) if (answered.size > MOST_KEPT) answered.delete(oldest);
  return found;
}

function nextTask(): Promise<void> {
  return new Promise((done) => setTimeout(done));
}

/** Milliseconds that a what-if waits for a further change. */
const PAUSE = 60;

/** A what-if of a cluster, as far as it is answered. */
export interface Disruption extends Request<ClusterOutcome> {
  /** What identifies its actions; null without any. */
  key: string | null;
}

/**
 * Return the effect of actions.
 *
 * @param cancelled The key of actions that are not to be tried.
 */
export function useDisruption(
  client: Client,
  cluster: Cluster,
  actions: readonly NodeEvent[],
  cancelled: string | null = null,
): Disruption {
  const key = actions.length ? JSON.stringify(actions) : null;
  const { data, error, loading } = useRequest(
    key === cancelled ? null : key,
    (signal) => disrupt(client, cluster, actions, signal),
    PAUSE,
  );
  // What is on its way is answered for other actions.
  return { key, data: loading || key === null ? null : data, error, loading };
}
