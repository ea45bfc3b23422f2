/** Answers of the server as state of a component: a newer request ends an older one. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { RequestError } from "../client";

export interface Request<T> {
  /** The last answer; kept while a newer one is on its way, and gone where that fails: it answers something else. */
  data: T | null;
  error: RequestError | null;
  loading: boolean;
}

/**
 * Return the answer of a request, which is sent again when its key changes.
 *
 * @param key What the request depends on; null sends none.
 * @param send Sends it.
 * @param delay Milliseconds to wait for a newer key first.
 */
export function useRequest<T>(key: string | null, send: (signal: AbortSignal) => Promise<T>, delay = 0): Request<T> {
  const [state, setState] = useState<Request<T>>({ data: null, error: null, loading: key !== null });
  const latest = useRef(send);
  latest.current = send;
  useEffect(() => {
    if (key === null) {
      setState({ data: null, error: null, loading: false });
      return;
    }
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    const timer = setTimeout(() => {
      latest
        .current(controller.signal)
        .then((data) => {
          if (!controller.signal.aborted) setState({ data, error: null, loading: false });
        })
        .catch((error: unknown) => {
          if (!controller.signal.aborted) setState({ data: null, error: asRequestError(error), loading: false });
        });
    }, delay);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key, delay]);
  useShown([state.data]);
  return state;
}

/** The answers that are on the screen, and by how many components. */
const SHOWN = new Map<object, number>();

/** Return the answers that are on the screen. */
export function shownAnswers(): object[] {
  return [...SHOWN.keys()];
}

/** Take note of answers that a component shows, for as long as it does. */
export function useShown(answers: readonly unknown[]): void {
  useEffect(() => {
    const held = answers.filter((answer) => typeof answer === "object" && answer !== null);
    for (const answer of held) SHOWN.set(answer, (SHOWN.get(answer) ?? 0) + 1);
    return () => {
      for (const answer of held) {
        const left = (SHOWN.get(answer) ?? 1) - 1;
        if (left > 0) SHOWN.set(answer, left);
        else SHOWN.delete(answer);
      }
    };
    // The answers themselves are what it depends on.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, answers);
}

/** Return a function that sends a request when it is called, and waits for it; a second call ends the first. */
export function useSend(): (send: (signal: AbortSignal) => Promise<void>) => Promise<void> {
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  return useCallback((send) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    return send(controller.signal).catch((error: unknown) => {
      if (!controller.signal.aborted) throw error;
    });
  }, []);
}

/** Return an error as one of a request. */
export function asRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  return new RequestError(error instanceof Error ? error.message : String(error), 0, []);
}
