/** Draws the map with a pen, which is a canvas or writes SVG. */
import type { Cluster } from "./cluster";
import { OTHER_POSITION, swatch } from "./colors";
import { nodeWidth, placeOf, podOffset, visibleLines, type Layout } from "./layout";
import { count, domainWords, number, printable } from "./words";

/** What draws. Rectangles of one color come together, since a canvas and SVG are both fast then. */
export interface Pen {
  fill(color: string, rectangles: readonly Rectangle[], alpha?: number): void;
  stroke(color: string, rectangles: readonly Rectangle[], dashed?: boolean): void;
  lines(color: string, segments: readonly Segment[]): void;
  text(color: string, x: number, y: number, text: string, width: number, bold?: boolean): void;
}

export type Rectangle = readonly [x: number, y: number, width: number, height: number];
export type Segment = readonly [x1: number, y1: number, x2: number, y2: number];

/** Colors of the page that drawings need. */
export interface Theme {
  surface: string;
  node: string;
  line: string;
  text: string;
  muted: string;
  warn: string;
  bad: string;
  accent: string;
}

export interface Drawing {
  cluster: Cluster;
  layout: Layout;
  theme: Theme;
  /** The swatch of each workload. */
  colorOf: Uint8Array;
  /** The workload that is highlighted; -1 for none. */
  highlight: number;
  /** Whether each pod has just come to its node in a what-if; null where nothing happens. */
  arrived: Uint8Array | null;
  /** How many more pods each node had before; null where nothing happens. */
  left: ((node: number) => number) | null;
  /** Pods that are on their way, which are not drawn where they arrive yet. */
  flying: readonly Flying[];
  /** The node with the cursor, as a position of the layout's order; -1 for none. */
  cursor: number;
}

/** A pod on its way between two points. */
export interface Flying {
  color: number;
  x: number;
  y: number;
}

/** Pixels of a pod's side from which marks are drawn on it. */
const LEAST_MARKED = 7;

/** Pixels of the corner that is cut off a tainted node. */
const CORNER = 9;

/** Draw what is between two heights. */
export function draw(drawing: Drawing, pen: Pen, top: number, bottom: number): void {
  const { layout } = drawing;
  const [from, to] = visibleLines(layout, top, bottom);
  const positions: number[] = [];
  for (const line of layout.lines.slice(from, to)) for (let at = line.from; at < line.to; at += 1) positions.push(at);
  drawNodes(drawing, pen, positions);
  drawPods(drawing, pen, positions);
  for (const row of layout.rows) if (row.y + row.height >= top && row.y <= bottom) drawLabel(drawing, pen, row, top);
  drawFlying(drawing, pen);
}

function drawFlying({ layout, flying }: Drawing, pen: Pen): void {
  const squares: Rectangle[][] = Array.from({ length: OTHER_POSITION + 1 }, () => []);
  for (const { color, x, y } of flying) squares[color]?.push([x, y, side(layout), side(layout)]);
  squares.forEach((rectangles, position) => {
    pen.fill(swatch(position).color, rectangles);
  });
}

/** Return the side of a pod's square, without the gap. */
export function side(layout: Layout): number {
  return layout.pitch - (layout.pitch > 6 ? 2 : 1);
}

function drawNodes({ cluster, layout, theme, cursor }: Drawing, pen: Pen, positions: readonly number[]): void {
  const plain: Rectangle[] = [];
  const warned: Rectangle[] = [];
  const notReady: Rectangle[] = [];
  const coming: Rectangle[] = [];
  const hatches: Segment[] = [];
  const crosses: Segment[] = [];
  const width = nodeWidth(layout);
  for (const at of positions) {
    const place = placeOf(layout, at);
    if (!place) continue;
    const rectangle: Rectangle = [place.x, place.y, width, place.height];
    plain.push(rectangle);
    if (cluster.coming.has(place.node)) coming.push(rectangle);
    const lost = cluster.lost.has(place.node);
    if (lost || cluster.notReady.has(place.node)) notReady.push(rectangle);
    const right = place.x + width;
    const bottom = place.y + place.height;
    const cordoned = cluster.cordoned.has(place.node);
    const tainted = cluster.taintsOf(place.node).length > 0;
    if (lost) {
      crosses.push([place.x, place.y, right, bottom], [place.x, bottom, right, place.y]);
      continue;
    }
    if ((cordoned || tainted) && !cluster.notReady.has(place.node)) warned.push(rectangle);
    if (cordoned) hatches.push([place.x, place.y, right, bottom]);
    if (tainted) hatches.push([right - CORNER, bottom, right, bottom - CORNER]);
  }
  pen.fill(theme.node, plain);
  pen.stroke(theme.line, plain);
  pen.stroke(theme.warn, warned, true);
  pen.stroke(theme.bad, notReady, true);
  pen.stroke(theme.accent, coming, true);
  pen.lines(theme.warn, hatches);
  pen.lines(theme.bad, crosses);
  const place = placeOf(layout, cursor);
  if (place)
    pen.stroke(theme.accent, [
      [place.x - 2, place.y - 2, width + 4, place.height + 4],
      [place.x - 1, place.y - 1, width + 2, place.height + 2],
    ]);
}

function drawPods(drawing: Drawing, pen: Pen, positions: readonly number[]): void {
  const { cluster, layout, colorOf, highlight, theme, arrived, left } = drawing;
  const size = side(layout);
  const ghosts: Rectangle[] = [];
  const fresh: Rectangle[] = [];
  const shown: Rectangle[][] = Array.from({ length: OTHER_POSITION + 1 }, () => []);
  const dimmed: Rectangle[] = [];
  const marks: Segment[] = [];
  for (const at of positions) {
    const place = placeOf(layout, at);
    if (!place) continue;
    const [first, end] = cluster.podsOn(place.node);
    for (let pod = first; pod < end; pod += 1) {
      const [dx, dy] = podOffset(layout, pod - first);
      const workload = cluster.podWorkload[pod] ?? -1;
      const rectangle: Rectangle = [place.x + dx, place.y + dy, size, size];
      if (arrived?.[pod]) {
        if (drawing.flying.length) continue;
        fresh.push([place.x + dx - 1, place.y + dy - 1, size + 2, size + 2]);
      }
      if (highlight >= 0 && workload !== highlight) {
        dimmed.push(rectangle);
        continue;
      }
      const color =
        highlight >= 0
          ? Math.min(colorOf[workload] ?? OTHER_POSITION, OTHER_POSITION)
          : workload < 0
            ? OTHER_POSITION
            : (colorOf[workload] ?? OTHER_POSITION);
      shown[color === OTHER_POSITION && highlight >= 0 ? 0 : color]?.push(rectangle);
      if (size >= LEAST_MARKED)
        for (const [x1, y1, x2, y2] of swatch(color).mark)
          marks.push([
            rectangle[0] + x1 * size,
            rectangle[1] + y1 * size,
            rectangle[0] + x2 * size,
            rectangle[1] + y2 * size,
          ]);
    }
    for (let ghost = 0; ghost < (left?.(place.node) ?? 0); ghost += 1) {
      const [dx, dy] = podOffset(layout, end - first + ghost);
      ghosts.push([place.x + dx, place.y + dy, size, size]);
    }
  }
  pen.stroke(theme.line, ghosts);
  pen.fill(theme.muted, dimmed, 0.22);
  shown.forEach((rectangles, position) => {
    pen.fill(swatch(position).color, rectangles);
  });
  pen.lines("#ffffff", marks);
  pen.stroke(theme.text, fresh);
}

/** Pixels of a row's label, which stays in view for as long as a node of its row does. */
const LABEL = { narrow: 22, wide: 52 };

function drawLabel(
  { cluster, layout, theme, highlight }: Drawing,
  pen: Pen,
  row: Layout["rows"][number],
  top: number,
): void {
  const narrow = layout.left < 40;
  const name = domainWords(row.domain.name);
  const last = row.y + row.height - (narrow ? LABEL.narrow : LABEL.wide);
  const y = Math.max(row.y, Math.min(top, last));
  const { nodes: held } = row.domain;
  const lost = held.filter((node) => cluster.lost.has(node)).length;
  const left = held.length - lost;
  const nodes = lost > 0 ? (left > 0 ? `${count(left, "node")} of ${held.length}` : "lost") : count(left, "node");
  const total = held.reduce((sum, node) => sum + cluster.podsIn(node), 0);
  const own = held.reduce((sum, node) => sum + (highlight < 0 ? 0 : cluster.podsOf(highlight, node)), 0);
  const pods = `${highlight < 0 ? "" : `${number(own)} of `}${count(total, "pod")}`;
  const detail = highlight < 0 || narrow ? `${nodes}, ${pods}` : pods;
  if (narrow) {
    if (y > row.y) pen.fill(theme.surface, [[0, y, layout.width, LABEL.narrow]]);
    pen.text(theme.text, 8, y + 14, `${name}: ${detail}`, layout.width - 16, true);
    return;
  }
  pen.text(theme.text, 12, y + 14, name, layout.left - 24, true);
  const tall = row.height >= 52;
  pen.text(theme.muted, 12, y + 31, tall ? nodes : detail, layout.left - 24);
  if (tall) pen.text(theme.muted, 12, y + 47, pods, layout.left - 24);
}

/** Draws on a canvas whose origin is at a height of the map. */
export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  fill(color: string, rectangles: readonly Rectangle[], alpha = 1): void {
    this.context.fillStyle = color;
    this.context.globalAlpha = alpha;
    for (const [x, y, width, height] of rectangles) this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  stroke(color: string, rectangles: readonly Rectangle[], dashed = false): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = dashed ? 1.5 : 1;
    this.context.setLineDash(dashed ? [3, 2] : []);
    for (const [x, y, width, height] of rectangles) this.context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    this.context.setLineDash([]);
  }

  lines(color: string, segments: readonly Segment[]): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = 1.4;
    this.context.beginPath();
    for (const [x1, y1, x2, y2] of segments) {
      this.context.moveTo(x1, y1);
      this.context.lineTo(x2, y2);
    }
    this.context.stroke();
  }

  text(color: string, x: number, y: number, text: string, width: number, bold = false): void {
    this.context.fillStyle = color;
    this.context.font = `${bold ? "600 13px" : "12px"} system-ui, sans-serif`;
    this.context.direction = "ltr";
    this.context.fillText(this.fitted(printable(text), width), x, y);
  }

  private fitted(text: string, width: number): string {
    // First strong isolate: a name's direction must not move what stands beside it.
    const isolated = (part: string): string => `\u2068${part}\u2069`;
    if (this.context.measureText(text).width <= width) return isolated(text);
    let [low, high] = [0, Math.min(text.length, 200)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
      else high = middle - 1;
    }
    return isolated(`${text.slice(0, low)}…`);
  }
}

/** Writes SVG. Rectangles of a color become one path, which keeps even large maps small. */
export class SvgPen implements Pen {
  private readonly parts: string[] = [];

  fill(color: string, rectangles: readonly Rectangle[], alpha = 1): void {
    if (rectangles.length) this.parts.push(`<path fill="${color}" fill-opacity="${alpha}" d="${path(rectangles)}"/>`);
  }

  stroke(color: string, rectangles: readonly Rectangle[], dashed = false): void {
    const dash = dashed ? ' stroke-dasharray="3 2"' : "";
    if (rectangles.length) this.parts.push(`<path fill="none" stroke="${color}"${dash} d="${path(rectangles)}"/>`);
  }

  lines(color: string, segments: readonly Segment[]): void {
    const d = segments.map(([x1, y1, x2, y2]) => `M${short(x1)} ${short(y1)}L${short(x2)} ${short(y2)}`).join("");
    if (d) this.parts.push(`<path fill="none" stroke="${color}" stroke-width="1.4" d="${d}"/>`);
  }

  text(color: string, x: number, y: number, text: string, _width: number, bold = false): void {
    const weight = bold ? ' font-weight="600"' : "";
    const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" fill="${color}" font-size="12.5"${weight} unicode-bidi="isolate">${escaped(shown)}</text>`,
    );
  }

  /** Return what was drawn, further down in another picture. */
  placed(y: number): string {
    return `<g transform="translate(0 ${short(y)})">${this.parts.join("")}</g>`;
  }

  /** Return the whole picture, with parts that others drew. */
  picture(width: number, height: number, background: string, ...others: string[]): string {
    const size = `width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}"`;
    const start = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, sans-serif">`;
    return `${start}<rect width="100%" height="100%" fill="${background}"/>${this.parts.join("")}${others.join("")}</svg>`;
  }
}

function path(rectangles: readonly Rectangle[]): string {
  return rectangles.map(([x, y, w, h]) => `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`).join("");
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Return text as XML takes it. */
export function escaped(text: string): string {
  return printable(text).replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
