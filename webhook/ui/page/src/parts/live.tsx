/** One place where changes are announced to screen readers. */
import { useEffect, useState } from "preact/hooks";

/** Announce a sentence. */
export function announce(text: string): void {
  document.dispatchEvent(new CustomEvent("evenkeel-announce", { detail: text }));
}

export function LiveRegion() {
  const [text, setText] = useState("");
  useEffect(() => {
    const hear = (event: Event): void => {
      setText((event as CustomEvent<string>).detail);
    };
    document.addEventListener("evenkeel-announce", hear);
    return () => {
      document.removeEventListener("evenkeel-announce", hear);
    };
  }, []);
  return (
    <div class="hidden" aria-live="polite" data-testid="live">
      {text}
    </div>
  );
}
