/** A list of a view as a picture: what it is of, the verdict, its rows, and what its signs and bars mean. */
import { SvgPen, type Rectangle, type Theme } from "./draw";
import type { Picture } from "./picture";
import { skewScale } from "./skew";
import { count } from "./words";

export type Tone = "good" | "warning" | "error" | "note";

/** A line of a cell. */
export interface CellLine {
  text: string;
  /** How good it is; absent for neither. */
  tone?: Tone;
  /** Pods from the emptiest domain to the fullest, against maxSkew. */
  skew?: { minimum: number; most: number; maxSkew: number; hard: boolean };
}

export interface PicturedTable {
  columns: readonly { title: string; width: number }[];
  rows: readonly (readonly (readonly CellLine[])[])[];
  /** What rows are, for those that are left out. */
  noun: string;
  /** What is shown in place of no row. */
  none: string;
}

const EDGE = 24;
const LINE = 18;
/** Pixels of a character at most, for what is drawn where no text can be measured. */
const CHARACTER = 7;
/** Rows that are drawn, and lines of a text. */
const MOST_ROWS = 60;
const MOST_LINES = 3;
const BAR = 90;
const SIGNS: Record<Tone, string> = { good: "✓", warning: "!", error: "✕", note: "i" };
const SKEW_LEGEND = "Bars: from the emptiest domain to the fullest; line: what maxSkew allows.";

/** Return the picture of a list. */
export function tablePicture(title: string, about: readonly string[], table: PicturedTable, theme: Theme): Picture {
  const pen = new SvgPen();
  const width = table.columns.reduce((sum, column) => sum + column.width, 2 * EDGE);
  const whole = Math.floor((width - 2 * EDGE) / CHARACTER);
  pen.text(theme.text, EDGE, 34, title, width, true);
  let y = 58;
  const shown = table.rows.slice(0, MOST_ROWS);
  const lines = shown.flat(2);
  for (const words of [...about, ...legend(lines)].flatMap((text) => wrapped(text, whole))) {
    pen.text(theme.muted, EDGE, y, words, width);
    y += LINE;
  }
  y += LINE;
  let x = EDGE;
  for (const column of table.columns) {
    pen.text(theme.muted, x, y, column.title, column.width);
    x += column.width;
  }
  y += 8;
  for (const row of shown) {
    pen.fill(theme.line, [[EDGE, y, width - 2 * EDGE, 1]]);
    y += LINE;
    let [left, bottom] = [EDGE, y];
    table.columns.forEach((column, at) => {
      bottom = Math.max(bottom, drawCell(pen, theme, row[at] ?? [], left, y, column.width - 12));
      left += column.width;
    });
    y = bottom - LINE + 10;
  }
  if (table.rows.length === 0) pen.text(theme.text, EDGE, (y += LINE), table.none, width);
  const left = table.rows.length - shown.length;
  if (left > 0) pen.text(theme.muted, EDGE, (y += LINE), `and ${count(left, `more ${table.noun}`)}`, width);
  const height = y + LINE;
  return { svg: pen.picture(width, height, theme.surface), width, height };
}

/** Draw a cell; return where the line after its last one is. */
function drawCell(pen: SvgPen, theme: Theme, lines: readonly CellLine[], x: number, y: number, width: number): number {
  const colors: Record<Tone, string> = { good: theme.accent, warning: theme.warn, error: theme.bad, note: theme.muted };
  for (const { text, tone, skew } of lines) {
    if (skew) drawSkew(pen, theme, skew, x, y);
    const left = x + (skew ? BAR + 8 : 0);
    const signed = tone ? `${SIGNS[tone]} ${text}` : text;
    for (const words of wrapped(signed, Math.floor((width - left + x) / CHARACTER))) {
      pen.text(tone ? colors[tone] : theme.text, left, y, words, width);
      y += LINE;
    }
  }
  return y;
}

function drawSkew(pen: SvgPen, theme: Theme, skew: NonNullable<CellLine["skew"]>, x: number, y: number): void {
  const scale = skewScale([skew.most], skew.minimum, skew.maxSkew);
  const at = (pods: number): number => (BAR * scale.at(pods)) / 100;
  const between = (from: number, to: number, top: number, height: number): Rectangle[] =>
    to > from ? [[x + at(from), y - top, at(to) - at(from), height]] : [];
  pen.fill(theme.node, [[x, y - 8, BAR, 6]]);
  pen.fill(theme.accent, between(skew.minimum, Math.min(skew.most, scale.limit), 8, 6));
  pen.fill(skew.hard ? theme.bad : theme.warn, between(scale.limit, skew.most, 10, 10));
  if (scale.limit <= scale.end) pen.fill(theme.text, [[x + at(scale.limit), y - 12, 1, 14]]);
}

function legend(lines: readonly CellLine[]): string[] {
  const tones = new Set(lines.map(({ tone }) => tone));
  const words: Record<Tone, string> = { error: "wrong", warning: "a risk", note: "a note", good: "good" };
  const signs = (["error", "warning", "note", "good"] as const).filter((tone) => tones.has(tone));
  return [
    ...(signs.length > 1 ? [signs.map((tone) => `${SIGNS[tone]} ${words[tone]}`).join(", ")] : []),
    ...(lines.some(({ skew }) => skew) ? [SKEW_LEGEND] : []),
  ];
}

/** Return a text as lines of so many characters, of which the last ends with an ellipsis if there are too many. */
export function wrapped(text: string, most: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > most) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  lines.push(line);
  const shown = lines
    .slice(0, MOST_LINES)
    .map((found) => (found.length > most ? `${found.slice(0, most - 1)}…` : found));
  if (lines.length > MOST_LINES) shown[MOST_LINES - 1] = `${(shown[MOST_LINES - 1] ?? "").slice(0, most - 1)}…`;
  return shown;
}
