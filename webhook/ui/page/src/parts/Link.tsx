/** A link to a state of the page: the browser's own in a new tab, and without a reload in this one. */
import type { ComponentChildren } from "preact";
import { encode, type PageState } from "../model/fragment";

interface Props {
  to: PageState;
  go: (state: PageState) => void;
  children: ComponentChildren;
  testId?: string;
  name?: string;
}

/** Return whether a click is meant for this tab. */
export function isPlain(event: MouseEvent): boolean {
  return event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}

export function Link({ to, go, children, testId, name }: Props) {
  return (
    <a
      class="link"
      href={encode(to)}
      data-testid={testId}
      data-name={name}
      onClick={(event) => {
        if (!isPlain(event)) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
