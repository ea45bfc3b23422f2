/** Colors of workloads: Okabe and Ito's, which color-blind people tell apart, each with a mark of its own. */

export interface Swatch {
  color: string;
  /** Strokes in a unit square, so that color is never the only difference. */
  mark: readonly (readonly [number, number, number, number])[];
}

export const SWATCHES: readonly Swatch[] = [
  { color: "#0072b2", mark: [] },
  { color: "#e69f00", mark: [[0.2, 0.8, 0.8, 0.2]] },
  { color: "#009e73", mark: [[0.2, 0.2, 0.8, 0.8]] },
  { color: "#cc79a7", mark: [[0.2, 0.5, 0.8, 0.5]] },
  { color: "#56b4e9", mark: [[0.5, 0.2, 0.5, 0.8]] },
  {
    color: "#d55e00",
    mark: [
      [0.2, 0.2, 0.8, 0.8],
      [0.2, 0.8, 0.8, 0.2],
    ],
  },
  {
    color: "#8d6bb8",
    mark: [
      [0.2, 0.5, 0.8, 0.5],
      [0.5, 0.2, 0.5, 0.8],
    ],
  },
];

/** The color of all other workloads. */
export const OTHER: Swatch = { color: "#93a1b0", mark: [] };
/** The position of OTHER among the swatches of a drawing. */
export const OTHER_POSITION = SWATCHES.length;

/** Return the swatch of a position. */
export function swatch(position: number): Swatch {
  return SWATCHES[position] ?? OTHER;
}
