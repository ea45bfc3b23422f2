/** The skew of a constraint, and where the minimum, the limit and the counts are on a line from 0 to 100. */
import type { DomainChange } from "../api-types";

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
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
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

/** What the global minimum depends on besides the counts. */
export type Minimum = Pick<DomainChange, "whenUnsatisfiable" | "minDomains">;

/** Return the global minimum of some counts: 0 where DoNotSchedule has fewer domains than minDomains. */
export function minimumOf({ whenUnsatisfiable, minDomains }: Minimum, counts: Counts): number {
  const pods = Object.values(counts);
  const needed = whenUnsatisfiable === "DoNotSchedule" ? Math.max(1, minDomains) : 1;
  return pods.length >= needed ? Math.min(...pods) : 0;
}

/** Return how many more pods the fullest domain has than the global minimum. */
export function skewOf(constraint: Minimum, counts: Counts): number {
  return Math.max(0, ...Object.values(counts)) - minimumOf(constraint, counts);
}
