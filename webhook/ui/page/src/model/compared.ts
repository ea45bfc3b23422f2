/** The domains of each constraint before and after what an answer simulates. */
import type { DomainStages, ExplainAnswer, SimulateAnswer, DomainChange } from "../api-types";
import { mostOf, type Counts } from "./skew";

/** The domains of one constraint. */
export interface ComparedDomains {
  constraint: number;
  topologyKey: string;
  whenUnsatisfiable: DomainChange["whenUnsatisfiable"];
  maxSkew: number;
  minDomains: number;
  origin: DomainChange["origin"];
  before: Counts;
  after: Counts;
  /** What actions did in between; null without any. */
  stages: DomainStages | null;
  /** Whether these are all domains. */
  complete: boolean;
  /** The skew before and after. */
  skewBefore: number;
  skew: number;
}

/**
 * Return the domains of every constraint in force for the workload.
 *
 * An answer has them of the pods that it schedules. Where actions happen, those of the workload are listed apart, with
 * their counts before; and where nothing is scheduled the explanation has them.
 */
export function comparedDomains(answer: SimulateAnswer, explain: ExplainAnswer | null): ComparedDomains[] {
  const stages = answer.whatIf?.domains ?? [];
  const placed = answer.domains.map((found): ComparedDomains => {
    const stage = stages.find(
      (other) => other.constraint === found.constraint && other.topologyKey === found.topologyKey,
    );
    return {
      ...applied(found),
      before: (stage ?? found).before,
      after: found.after,
      skewBefore: (stage ?? found).skewBefore,
      skew: found.skew,
      stages: stage ?? null,
      complete: true,
    };
  });
  const others = stages
    .filter((stage) => !placed.some((found) => found.constraint === stage.constraint))
    .map((stage): ComparedDomains => ({
      ...applied(stage),
      before: stage.before,
      after: stage.recovered,
      skewBefore: stage.skewBefore,
      skew: stage.skew,
      stages: stage,
      complete: true,
    }));
  const found = [...placed, ...others].sort((a, b) => a.constraint - b.constraint);
  return found.length || !explain ? found : currentDomains(explain);
}

/** Return the domains of every constraint that an explanation has in force, as they are. */
export function currentDomains(explain: ExplainAnswer): ComparedDomains[] {
  return explain.constraints.map(unchanged);
}

function applied(
  found: DomainChange | DomainStages,
): Omit<ComparedDomains, "before" | "after" | "skewBefore" | "skew" | "stages" | "complete"> {
  const { constraint, topologyKey, whenUnsatisfiable, maxSkew, minDomains, origin } = found;
  return { constraint, topologyKey, whenUnsatisfiable, maxSkew, minDomains, origin };
}

function unchanged(found: ExplainAnswer["constraints"][number], constraint: number): ComparedDomains {
  const { topologyKey, whenUnsatisfiable, maxSkew, minDomains, origin, allDomains, skewNow } = found;
  const counts = Object.fromEntries(
    found.domains.filter((domain) => domain.counted).map((domain) => [domain.value, domain.matching]),
  );
  const base = { constraint, topologyKey, whenUnsatisfiable, maxSkew, minDomains, origin };
  const skews = { skewBefore: skewNow, skew: skewNow };
  return { ...base, ...skews, before: counts, after: counts, stages: null, complete: allDomains };
}

/** A constraint whose skew is above maxSkew now. */
export interface Violation {
  topologyKey: string;
  fullest: string | null;
  most: number;
  minimum: number;
  skew: number;
  maxSkew: number;
}

/** Return the DoNotSchedule constraints that the running pods violate. */
export function violations(explain: ExplainAnswer): Violation[] {
  return explain.constraints.flatMap(
    ({ topologyKey, whenUnsatisfiable, skewNow: skew, histogram, maxSkew, domains }) => {
      if (whenUnsatisfiable !== "DoNotSchedule" || skew <= maxSkew) return [];
      const most = mostOf(histogram.map((found) => found.matching));
      const fullest = domains.find((domain) => domain.counted && domain.matching === most)?.value ?? null;
      return [{ topologyKey, fullest, most, minimum: most - skew, skew, maxSkew }];
    },
  );
}
