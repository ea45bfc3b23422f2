/**
 * Where every node and pod of the map is drawn: rows of domains, lines of nodes, squares of pods.
 *
 * Works on columns and knows nothing of the canvas, so that the map, its picture and hit tests share it.
 */

/** A domain of the map. */
export interface Domain {
  /** Its name; null for the nodes without the topology key. */
  name: string | null;
  /** Positions of its nodes. */
  nodes: readonly number[];
}

/** Nodes side by side. */
export interface Line {
  y: number;
  height: number;
  /** The first of its nodes in ``order``, and the one after the last. */
  from: number;
  to: number;
}

/** A domain as it is placed. */
export interface Row {
  domain: Domain;
  y: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  /** Where nodes start from the left; labels of rows are left of it, or above on narrow screens. */
  left: number;
  /** Side of a pod's square, with the gap to the next. */
  pitch: number;
  /** Pods side by side in a node. */
  columns: number;
  /** Width of a node with the gap to the next. */
  cell: number;
  rows: readonly Row[];
  lines: readonly Line[];
  /** Positions of nodes as they are placed. */
  order: Int32Array;
}

/** Space inside of a node around its pods, and between nodes, in pixels. */
const PADDING = 3;
const GAP = 4;
const ROW_GAP = 14;
const LABEL_WIDTH = 168;
const LABEL_HEIGHT = 22;
const NARROW = 640;
const LEAST_ROW = 40;

/** Return the side of a pod's square for so many pods: large where there are few. */
export function pitchFor(pods: number): number {
  return pods <= 150 ? 18 : pods <= 400 ? 14 : pods <= 3_000 ? 11 : pods <= 20_000 ? 8 : pods <= 60_000 ? 6 : 5;
}

/** Return the layout of some domains in a width. */
export function layOut(
  domains: readonly Domain[],
  podsOf: (node: number) => number,
  width: number,
  pitch: number,
): Layout {
  const narrow = width < NARROW;
  const left = narrow ? 8 : LABEL_WIDTH;
  const all = domains.flatMap((domain) => domain.nodes);
  const columns = columnsFor(all, podsOf);
  const cell = columns * pitch + 2 * PADDING + GAP;
  const perLine = Math.max(1, Math.floor((width - left - 8) / cell));
  const order = Int32Array.from(all);
  const rows: Row[] = [];
  const lines: Line[] = [];
  let y = 8;
  let placed = 0;
  for (const domain of domains) {
    const top = y;
    if (narrow) y += LABEL_HEIGHT;
    const end = placed + domain.nodes.length;
    for (let from = placed; from < end; from += perLine) {
      const to = Math.min(end, from + perLine);
      let most = 0;
      for (let at = from; at < to; at += 1) {
        most = Math.max(most, podsOf(order[at] ?? 0));
      }
      const height = Math.max(1, Math.ceil(most / columns)) * pitch + 2 * PADDING;
      lines.push({ y, height, from, to });
      y += height + GAP;
    }
    placed = end;
    const least = narrow ? 0 : LEAST_ROW;
    y = Math.max(y, top + least);
    rows.push({ domain, y: top, height: y - top });
    y += domains.length > 60 ? 4 : ROW_GAP;
  }
  return { width, height: y, left, pitch, columns, cell, rows, lines, order };
}

/** Return how many pods stand side by side: so that a usual node is about as wide as high. */
function columnsFor(nodes: readonly number[], podsOf: (node: number) => number): number {
  if (nodes.length === 0) return 1;
  const total = nodes.reduce((sum, node) => sum + podsOf(node), 0);
  return Math.min(12, Math.max(4, Math.ceil(Math.sqrt(1.6 * (total / nodes.length)))));
}

/** A place in the map. */
export interface Place {
  /** Position in ``order``. */
  at: number;
  node: number;
  x: number;
  y: number;
  height: number;
  /** Which of the node's pods; -1 beside them. */
  pod: number;
}

/** Return the lines between two heights, as positions. */
export function visibleLines(layout: Layout, top: number, bottom: number): [number, number] {
  return [firstLine(layout, top), Math.min(layout.lines.length, firstLine(layout, bottom) + 1)];
}

/** Return the position of the first line that ends below a height. */
function firstLine(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const line = layout.lines[middle];
    if (line && line.y + line.height < y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return what is drawn at a point; null beside all nodes. */
export function placeAt(layout: Layout, x: number, y: number): Place | null {
  const line = layout.lines[firstLine(layout, y)];
  if (!line || y < line.y || x < layout.left) return null;
  const column = Math.floor((x - layout.left) / layout.cell);
  const at = line.from + column;
  if (at >= line.to) return null;
  const place = placeOf(layout, at);
  if (!place) return null;
  const inside = { x: x - place.x - PADDING, y: y - line.y - PADDING };
  const podColumn = Math.floor(inside.x / layout.pitch);
  const within = inside.x >= 0 && inside.y >= 0 && podColumn < layout.columns;
  return { ...place, pod: within ? Math.floor(inside.y / layout.pitch) * layout.columns + podColumn : -1 };
}

/** Return where the node at a position of ``order`` is drawn. */
export function placeOf(layout: Layout, at: number): Place | null {
  const node = layout.order[at];
  const line = lineOf(layout, at);
  if (node === undefined || !line) return null;
  return { at, node, x: layout.left + (at - line.from) * layout.cell, y: line.y, height: line.height, pod: -1 };
}

function lineOf(layout: Layout, at: number): Line | undefined {
  let low = 0;
  let high = layout.lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((layout.lines[middle]?.to ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return layout.lines[low];
}

/** Return where a pod's square starts from its node's corner. */
export function podOffset(layout: Layout, pod: number): [number, number] {
  return [PADDING + (pod % layout.columns) * layout.pitch, PADDING + Math.floor(pod / layout.columns) * layout.pitch];
}

/** Return how wide a node is drawn. */
export function nodeWidth(layout: Layout): number {
  return layout.cell - GAP;
}

/** Return the position in ``order`` that an arrow key leads to. */
export function neighbor(layout: Layout, at: number, key: string): number {
  const line = lineOf(layout, at);
  if (!line) return 0;
  const last = layout.order.length - 1;
  const position = layout.lines.indexOf(line);
  const beside = layout.lines[position + (key === "ArrowUp" ? -1 : 1)];
  switch (key) {
    case "ArrowLeft":
      return Math.max(0, at - 1);
    case "ArrowRight":
      return Math.min(last, at + 1);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return beside ? Math.min(beside.from + (at - line.from), beside.to - 1) : at;
  }
}
