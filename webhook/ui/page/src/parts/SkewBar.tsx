/** A constraint of the audit on one line: from the emptiest domain to the fullest, against what maxSkew allows. */
import type { ConstraintSkew } from "../api-types";
import { skewScale } from "../model/skew";
import { count, number, shortKey } from "../model/words";
import { Name } from "./text";

const HEIGHT = 14;

export function SkewBar({ constraint }: { constraint: ConstraintSkew }) {
  const { globalMinimum: minimum, most, maxSkew, skew, within } = constraint;
  const scale = skewScale([most], minimum, maxSkew);
  const hard = constraint.whenUnsatisfiable === "DoNotSchedule";
  const words = `${shortKey(constraint.topologyKey)}: ${count(minimum, "pod")} in the emptiest domain, ${number(most)} in the fullest; skew ${number(skew)} of maxSkew ${number(maxSkew)}`;
  return (
    <div class={`skew ${within ? "" : hard ? "over" : "uneven"} ${constraint.neverBinds ? "inert" : ""}`}>
      <span class="skew-key" title={constraint.topologyKey}>
        <Name>{shortKey(constraint.topologyKey)}</Name>
      </span>
      <svg class="skew-line" viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
        <title>{words}</title>
        <rect class="track" x="0" y="5" width="100" height="4" />
        <rect
          class="allowed"
          x={scale.at(minimum)}
          y="3"
          width={Math.max(0, scale.at(scale.limit) - scale.at(minimum))}
          height="8"
        />
        <rect
          class="held"
          x={scale.at(minimum)}
          y="5"
          width={Math.max(0.8, scale.at(Math.min(most, scale.limit)) - scale.at(minimum))}
          height="4"
        />
        {most > scale.limit && (
          <rect
            class="excess"
            x={scale.at(scale.limit)}
            y="2"
            width={scale.at(most) - scale.at(scale.limit)}
            height="10"
          />
        )}
        <rect class="minimum" x={Math.max(0, scale.at(minimum) - 0.6)} y="0" width="1.2" height={HEIGHT} />
        {scale.limit <= scale.end && (
          <rect class="limit" x={scale.at(scale.limit) - 0.4} y="0" width="0.8" height={HEIGHT} />
        )}
      </svg>
      <span class="skew-words">
        {number(skew)}
        <span class="quiet">
          {" "}
          of {number(maxSkew)}
          {hard ? "" : " soft"}
        </span>
      </span>
    </div>
  );
}
