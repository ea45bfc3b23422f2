/** The report that a document holds: what `-o json` of its command prints, and where it comes from. */
import type { ExplainAnswer, LintReport, Outcome, PlanAnswer, ReportAbout } from "../api-types";

import type { SavedView } from "../views/savedView";

interface About {
  /** The version of Evenkeel that wrote it. */
  evenkeel: string;
  about: ReportAbout;
}

export type Report = About &
  (
    | { kind: "explain"; document: ExplainAnswer }
    | { kind: "what-if"; document: Outcome }
    | { kind: "plan"; document: PlanAnswer }
    | { kind: "lint"; document: LintReport }
    | { kind: "page"; document: SavedView }
  );

const KINDS: readonly string[] = ["explain", "what-if", "plan", "lint", "page"] satisfies Report["kind"][];
/** The form of the embedded JSON that this page reads. */
const VERSION = 1;

/** Return the report of a text; a sentence that says why there is none. */
export function readReport(text: string): Report | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "The report in this file is damaged: write it again.";
  }
  if (typeof value !== "object" || value === null) return "The report in this file is damaged: write it again.";
  const { kind, version, document, evenkeel, about } = value as Record<string, unknown>;
  if (
    version !== VERSION ||
    typeof kind !== "string" ||
    !KINDS.includes(kind) ||
    typeof document !== "object" ||
    document === null ||
    typeof about !== "object" ||
    about === null
  )
    return "This page does not know the report in this file: it was written by another release.";
  return {
    kind,
    document,
    evenkeel: typeof evenkeel === "string" ? evenkeel : "",
    about,
  } as Report;
}
