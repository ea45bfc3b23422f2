/** A state that another person sent: a link of their page, or a view that they saved. */

/** What a saved view looks like, up to its data. */
const SAVED = /<script type="application\/json" id="evenkeel-report">(.*?)<\/script>/s;
const LINK = /^(?:https?:\/\/[^\s#]*)?(#\/\S*)$/;

/** Return the fragment of a link or of a saved view; null for what is none, such as a manifest. */
export function fragmentOf(text: string): string | null {
  const link = LINK.exec(text.trim())?.[1];
  if (link !== undefined) return link;
  const data = SAVED.exec(text)?.[1];
  if (data === undefined) return null;
  try {
    const { document } = JSON.parse(data) as { document?: { fragment?: unknown } };
    return typeof document?.fragment === "string" ? document.fragment : null;
  } catch {
    return null;
  }
}
