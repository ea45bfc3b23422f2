/** What comes of a what-if, as state of a component: the one answer that every tab takes its verdict from. */
import type { PlayedWhatIf, WhatIfBody } from "../api-types";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import { movesOf } from "../model/moves";
import { useRequest, type Request } from "../parts/request";

/** Milliseconds that a what-if waits for a further change. */
const PAUSE = 60;

/** A what-if, as far as it is answered. */
export interface Played extends Request<PlayedWhatIf> {
  /** What identifies it; null without any. */
  key: string | null;
}

/**
 * Return what comes of a what-if.
 *
 * @param body The what-if; null for none.
 * @param cancelled The key of one that is not to be tried.
 */
export function usePlayed(
  client: Client,
  cluster: Cluster,
  body: WhatIfBody | null,
  cancelled: string | null = null,
): Played {
  const key = body && JSON.stringify(body);
  const { data, error, loading } = useRequest(
    key === cancelled ? null : key,
    async (signal) => {
      const found = await client.whatIf(body ?? {}, signal);
      if (found.moved.length === 1) {
        // What is made of many pods gets a task of its own, so that what a person does meanwhile is answered.
        await nextTask();
        movesOf(cluster, found);
        await nextTask();
      }
      return found;
    },
    PAUSE,
  );
  return { key, data: key === null ? null : data, error, loading };
}

function nextTask(): Promise<void> {
  return new Promise((done) => setTimeout(done));
}
