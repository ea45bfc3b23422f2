/** The map as a picture that says what it shows: a title, which cluster of when, and what the colors stand for. */
import { swatch } from "./colors";
import { draw, SvgPen, type Drawing, type Segment } from "./draw";
import type { Picture } from "./picture";

/** A color of the map, and what it stands for. */
export interface LegendEntry {
  /** The position of its swatch. */
  color: number;
  label: string;
}

const TITLE = 34;
const LINE = 20;
const SIDE = 13;
/** Pixels of a character at most, for what is drawn where no text can be measured. */
const CHARACTER = 7.5;
const MARKS =
  "A square is a pod. A dashed outline is a node that is cordoned (line across), tainted (corner) or not ready.";

/** Return the picture of a drawing. */
export function mapPicture(
  drawing: Drawing,
  title: string,
  about: readonly string[],
  legend: readonly LegendEntry[],
): Picture {
  const { layout, theme } = drawing;
  const [head, map] = [new SvgPen(), new SvgPen()];
  head.text(theme.text, 12, TITLE - 8, title, layout.width - 24, true);
  let y = TITLE + 12;
  for (const words of [...about, MARKS]) {
    head.text(theme.muted, 12, y, words, layout.width - 24);
    y += LINE;
  }
  let x = 12;
  for (const { color, label } of legend) {
    const width = SIDE + 6 + label.length * CHARACTER + 18;
    if (x > 12 && x + width > layout.width) [x, y] = [12, y + LINE];
    const { color: fill, mark } = swatch(color);
    head.fill(fill, [[x, y - SIDE + 2, SIDE, SIDE]]);
    head.lines(
      "#ffffff",
      mark.map((segment) => scaled(segment, x, y - SIDE + 2)),
    );
    head.text(theme.text, x + SIDE + 6, y, label, width);
    x += width;
  }
  const top = y + LINE;
  draw(drawing, map, 0, layout.height);
  const height = top + layout.height;
  return { svg: head.picture(layout.width, height, theme.surface, map.placed(top)), width: layout.width, height };
}

function scaled([x1, y1, x2, y2]: Segment, x: number, y: number): Segment {
  return [x + x1 * SIDE, y + y1 * SIDE, x + x2 * SIDE, y + y2 * SIDE];
}
