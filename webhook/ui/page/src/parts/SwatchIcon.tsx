/** The color and the mark of a workload, as on the map. */
import { swatch } from "../model/colors";

/** The position is that of the swatch. */
export function SwatchIcon({ position }: { position: number }) {
  const { color, mark } = swatch(position);
  return (
    <svg class="swatch" viewBox="0 0 14 14" aria-hidden="true">
      <rect width="14" height="14" rx="2" fill={color} />
      {mark.map(([x1, y1, x2, y2], at) => (
        <line key={at} x1={14 * x1} y1={14 * y1} x2={14 * x2} y2={14 * y2} stroke="#fff" stroke-width="1.6" />
      ))}
    </svg>
  );
}
