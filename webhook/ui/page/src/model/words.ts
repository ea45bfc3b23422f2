/** Numbers and names of the API in words; no markup. */
import type { ConstraintOutcome } from "../api-types";

const NUMBERS = new Intl.NumberFormat("en");

/** Return a number with separators. */
export function number(value: number): string {
  return NUMBERS.format(value);
}

/** Return a count with its noun: "1 node", "2 nodes". */
export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${number(value)} ${value === 1 ? noun : plural}`;
}

const ORIGINS: Record<ConstraintOutcome["origin"], string> = {
  pod: "the workload's own",
  policy: "a SpreadPolicy's default",
  "scheduler-list": "the scheduler's configured default",
  "scheduler-system": "the scheduler's built-in default",
};

/** Return whose a constraint is. */
export function origin(value: ConstraintOutcome["origin"]): string {
  return ORIGINS[value];
}

/** Return a topology key without its prefix: "zone" for topology.kubernetes.io/zone. */
export function shortKey(key: string): string {
  return key.startsWith("topology.kubernetes.io/") || key.startsWith("kubernetes.io/")
    ? key.slice(key.indexOf("/") + 1)
    : key;
}

/** Return the name of a domain of nodes: the value of a label, which may be empty, or null for those without it. */
export function domainWords(name: string | null): string {
  return name === null ? "without the key" : name === "" ? "(empty)" : name;
}

/** Return a kind without its group: "Deployment" for Deployment.apps. */
export function shortKind(kind: string): string {
  return kind.split(".")[0] ?? kind;
}

/** Return a value of JSON or YAML on one line. */
export function inline(value: unknown): string {
  return value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
}

const UNITS: readonly [noun: string, seconds: number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** Return how long ago something was, in the largest unit of which there are two. */
export function age(from: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(from)) / 1000));
  if (Number.isNaN(seconds)) return "";
  const [noun, size] = UNITS.find((unit) => seconds >= 2 * unit[1]) ?? ["second", 1];
  return `${count(Math.round(seconds / size), noun)} ago`;
}

const BRIEF: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Return a text in which control characters, directions and what else does not print are escapes, as commands have them. */
export function printable(text: string): string {
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, (char) => BRIEF[char] ?? escape(char.codePointAt(0) ?? 0));
}

function escape(code: number): string {
  const digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

/** Return words as a sentence of their own. */
export function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
