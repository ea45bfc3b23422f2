/** Selectors as kubectl prints them. */

/** Return the labels of a selector that only compares; null for one that matchLabels cannot say. */
export function labelsOf(selector: string | null): Record<string, string> | null {
  // matchLabelKeys narrow the selector to a revision, which a new constraint must not do.
  const terms = (selector ?? "").split(/,(?![^(]*\))/).filter((term) => !/ in \([^,]*\)$/.test(term));
  const labels: Record<string, string> = {};
  for (const term of terms) {
    const [, key, value] = /^([^=!]+)=([^=]*)$/.exec(term) ?? [];
    if (key === undefined || value === undefined) return null;
    labels[key] = value;
  }
  return Object.keys(labels).length ? labels : null;
}
