/** The constraints that the running pods violate. */
import type { ExplainAnswer } from "../api-types";
import { mostOf } from "./skew";

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
