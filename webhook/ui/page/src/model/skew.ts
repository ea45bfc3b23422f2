/** Where the minimum, the limit and the counts of a constraint are on a line from 0 to 100. The server has the skew. */

/** A line of pods in a domain, or over all domains. */
export interface SkewScale {
  /** Pods at the right end. */
  end: number;
  /** The global minimum; null where there is none (ScheduleAnyway has it only for comparison). */
  minimum: number;
  /** The most pods that maxSkew allows: minimum + maxSkew. */
  limit: number;
  /** Return where a number of pods is, in percent. */
  at: (pods: number) => number;
}

/** Return the line for some counts. */
export function skewScale(counts: readonly number[], minimum: number, maxSkew: number): SkewScale {
  const most = mostOf(counts);
  // A huge maxSkew must not make the bars invisible: the limit is then off the line, and the words say it.
  const limit = minimum + maxSkew;
  const end = Math.max(1, most, Math.min(limit, Math.max(2 * most, minimum + 4))) * 1.04;
  return { end, minimum, limit, at: (pods) => Math.round(Math.min(100, (100 * pods) / end) * 100) / 100 };
}

/** Return domains with those that change by most pods first, then the fullest. */
export function foremost<T extends { pods: number; after: number | null }>(domains: readonly T[]): T[] {
  const change = (domain: T): number => (domain.after === null ? 0 : Math.abs(domain.after - domain.pods));
  return [...domains].sort((a, b) => change(b) - change(a) || (b.after ?? b.pods) - (a.after ?? a.pods));
}

/** Matching pods by domain. */
export type Counts = Readonly<Record<string, number>>;

/** Return the global minimum: as many pods below the fullest domain as the skew. */
export function minimumOf(skew: number, counts: Counts): number {
  return mostOf(Object.values(counts)) - skew;
}

/** Return the pods of the fullest domain. */
export function mostOf(counts: readonly number[]): number {
  return counts.reduce((a, b) => Math.max(a, b), 0);
}
