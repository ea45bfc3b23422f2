/** A view as one file: the page itself with the answers that it shows, which opens from disk without a server. */
import { RECORDING, type SavedReport } from "../api-types";
import { requestOf } from "../client";
import { encode, type PageState } from "../model/fragment";
import { shownAnswers } from "../parts/request";
import { saveText } from "../parts/save";
import { auditAnswer, type Audit } from "./audit";

/** What a saved view holds. */
export interface SavedView {
  /** The state of the page, as an address has it. */
  fragment: string;
  /** What the file does not have, a sentence each; absent where that is all that was not on the screen. */
  withheld?: readonly string[];
  answers: Readonly<Record<string, object>>;
}

/**
 * Save the view that is on the screen.
 *
 * @param file The page as the server makes it, with a mark in place of the answers.
 * @param audit The audit, where the view shows it.
 */
export function saveView(name: string, { html }: SavedReport, state: PageState, audit: Audit | null): void {
  const answers = shownAnswers().flatMap((answer) => {
    const request = requestOf(answer);
    return request === null ? [] : [[request, answer] as const];
  });
  const saved: SavedView = {
    fragment: encode(state),
    answers: Object.fromEntries(audit ? [...answers, auditAnswer(audit)] : answers),
  };
  // As a function, so that no $ of a name means anything; escaped, so that no name ends the script.
  saveText(
    `${name}.html`,
    "text/html",
    html.replace(`"${RECORDING}"`, () => escaped(JSON.stringify(saved))),
  );
}

function escaped(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
