/** The fragment of the address: written at once, but no more often than browsers take it. */

/** Milliseconds between two writes; Safari throws after 100 in 10 seconds, chromium ignores them after 200. */
const PAUSE = 150;

let written = -PAUSE;
let waiting: string | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Write a fragment as a new entry of the history. */
export function pushAddress(fragment: string): void {
  flush();
  history.pushState(null, "", fragment);
}

/** Write a fragment in place of the current one; of many in a row, the first and the last. */
export function replaceAddress(fragment: string): void {
  waiting = fragment;
  clearTimeout(timer);
  const left = written + PAUSE - performance.now();
  if (left > 0) timer = setTimeout(flush, left);
  else flush();
}

/** Forget what is not written yet: the person went to another entry of the history. */
export function dropAddress(): void {
  clearTimeout(timer);
  waiting = null;
}

function flush(): void {
  const fragment = waiting;
  dropAddress();
  if (fragment === null) return;
  written = performance.now();
  history.replaceState(null, "", fragment);
}
