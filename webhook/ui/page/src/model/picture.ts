/** A picture of domains before and after as SVG, which is also what PNG is made from. */
import { escaped, type Theme } from "./draw";
import { foremost, skewScale } from "./skew";
import { count, domainWords, number } from "./words";

/** The domains of one constraint. */
export interface PicturedConstraint {
  title: string;
  maxSkew: number;
  minimum: number;
  /** Whether it filters nodes, so that what is above maxSkew is wrong, and not only unwanted. */
  hard: boolean;
  /** Domains with their pods before and after; those that are gone have null after. */
  domains: readonly { name: string; pods: number; after: number | null }[];
  /** The skew after each step of a rollout, from its start; absent or empty without one. */
  skews?: readonly number[];
}

export interface Picture {
  svg: string;
  width: number;
  height: number;
}

const WIDTH = 760;
const LABEL = 190;
const BAR = 430;
const ROW = 26;
/** Pixels of a curve's height. */
const CURVE = 70;
/** Domains of a constraint that are drawn. */
const MOST_ROWS = 60;

/**
 * Return the picture.
 *
 * @param title What it is of.
 * @param about Lines below: what happens, where and when, and what came of it.
 */
export function pictureOf(
  title: string,
  about: readonly string[],
  constraints: readonly PicturedConstraint[],
  theme: Theme,
): Picture {
  const parts = [text(24, 34, title, theme.text, 17, true)];
  let y = 58;
  for (const words of about) {
    parts.push(text(24, y, words, theme.text, 13));
    y += 20;
  }
  for (const constraint of constraints) {
    parts.push(text(24, y + 14, constraint.title, theme.muted, 13));
    y += 28;
    const scale = skewScale(
      constraint.domains.flatMap((found) => [found.pods, found.after ?? 0]),
      constraint.minimum,
      constraint.maxSkew,
    );
    const x = (pods: number): number => LABEL + (BAR * scale.at(pods)) / 100;
    const above = constraint.hard ? theme.bad : theme.warn;
    const left = constraint.domains.length - MOST_ROWS;
    const domains = left > 0 ? foremost(constraint.domains).slice(0, MOST_ROWS) : constraint.domains;
    const [top, bottom] = [y, y + domains.length * ROW];
    for (const { name: value, pods, after } of domains) {
      const name = domainWords(value);
      const shown = after ?? 0;
      parts.push(text(24, y + 16, name.length > 24 ? `${name.slice(0, 23)}…` : name, theme.text, 13));
      parts.push(
        rect(LABEL, y + 5, BAR, 14, theme.node),
        rect(LABEL, y + 5, x(Math.min(shown, scale.limit)) - LABEL, 14, theme.accent),
      );
      if (pods > shown) parts.push(rect(x(shown), y + 8, x(pods) - x(shown), 8, theme.line));
      if (shown > scale.limit) parts.push(rect(x(scale.limit), y + 3, x(shown) - x(scale.limit), 18, above));
      parts.push(
        text(
          LABEL + BAR + 12,
          y + 16,
          after === null
            ? `${number(pods)} → gone`
            : after === pods
              ? number(pods)
              : `${number(pods)} → ${number(after)}`,
          theme.text,
          13,
        ),
      );
      y += ROW;
    }
    parts.push(line(x(scale.minimum), top, bottom, theme.muted, "3 3"));
    if (scale.limit <= scale.end) parts.push(line(x(scale.limit), top, bottom, theme.bad, ""));
    const legend = `dashed: minimum ${number(scale.minimum)}; line: ${constraint.hard ? "most allowed" : "wanted at most"} ${number(scale.limit)}; gray: lost`;
    parts.push(text(LABEL, y + 14, legend, theme.muted, 12));
    y += 20;
    if (left > 0) {
      parts.push(text(24, y + 16, `and ${count(left, "more domain")}`, theme.muted, 13));
      y += ROW;
    }
    y += 18;
    if (constraint.skews && constraint.skews.length > 1) {
      parts.push(...curve(constraint.skews, constraint.maxSkew, y, theme, above));
      y += CURVE + 34;
    }
  }
  const height = y + 12;
  const start = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif">`;
  return { svg: `${start}${rect(0, 0, WIDTH, height, theme.surface)}${parts.join("")}</svg>`, width: WIDTH, height };
}

/** Return the skew over the steps of a rollout, against maxSkew. */
function curve(skews: readonly number[], maxSkew: number, top: number, theme: Theme, above: string): string[] {
  const most = Math.max(...skews, maxSkew, 1);
  const x = (step: number): number => LABEL + (BAR * step) / (skews.length - 1);
  const y = (skew: number): number => top + CURVE - (CURVE * skew) / most;
  const steps = skews.map((skew, step) => `${step ? `H${x(step)}` : `M${x(0)} ${y(skew)}`}V${y(skew)}`).join("");
  return [
    text(24, top + 14, "skew by step", theme.text, 13),
    `<path d="${steps}" fill="none" stroke="${theme.accent}" stroke-width="2"/>`,
    `<line x1="${LABEL}" x2="${LABEL + BAR}" y1="${y(maxSkew)}" y2="${y(maxSkew)}" stroke="${above}" stroke-width="1.5"/>`,
    text(LABEL + BAR + 12, y(maxSkew) + 4, `maxSkew ${number(maxSkew)}`, theme.muted, 12),
    text(
      LABEL,
      top + CURVE + 18,
      `start to step ${number(skews.length - 1)}, largest ${number(Math.max(...skews))}`,
      theme.muted,
      12,
    ),
  ];
}

function text(x: number, y: number, words: string, color: string, size: number, bold = false): string {
  return `<text x="${x}" y="${y}" fill="${color}" font-size="${size}"${bold ? ' font-weight="600"' : ""} unicode-bidi="isolate">${escaped(words)}</text>`;
}

function rect(x: number, y: number, width: number, height: number, color: string): string {
  return `<rect x="${x}" y="${y}" width="${Math.max(0, width)}" height="${height}" fill="${color}"/>`;
}

function line(x: number, from: number, to: number, color: string, dash: string): string {
  return `<line x1="${x}" x2="${x}" y1="${from}" y2="${to}" stroke="${color}" stroke-width="1.5"${dash ? ` stroke-dasharray="${dash}"` : ""}/>`;
}
