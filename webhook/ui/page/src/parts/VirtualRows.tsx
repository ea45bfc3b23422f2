/** A list of rows of one height, of which only those in view are in the page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props<T> {
  items: readonly T[];
  /** Pixels of a row. */
  height: number;
  label: string;
  /** Names of the columns, if rows are those of a table. */
  head: ComponentChildren;
  row: (item: T, position: number) => ComponentChildren;
  keyOf: (item: T) => string;
  testId?: string;
}

/** Return a length as style sheets take it. */
export function px(length: number): string {
  return `${length}px`;
}

/** Rows above and below the view that are kept. */
const BEYOND = 8;

export function VirtualRows<T>({ items, height, label, head, row, keyOf, testId }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let frame = 0;
    const measure = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        setView({ top: element.scrollTop, height: element.clientHeight });
      });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const from = Math.max(0, Math.min(items.length, Math.floor(view.top / height) - BEYOND));
  const to = Math.min(items.length, Math.ceil((view.top + view.height) / height) + BEYOND);
  return (
    <div
      class="rows"
      style={{ height: px((items.length + 1) * height) }}
      ref={box}
      tabIndex={0}
      role="table"
      aria-label={label}
      aria-rowcount={items.length + 1}
      data-testid={testId}
    >
      <div class="rows-head" role="row" aria-rowindex={1}>
        {head}
      </div>
      <div class="rows-space" role="rowgroup" style={{ height: px(items.length * height) }}>
        {items.slice(from, to).map((item, at) => (
          <div
            key={keyOf(item)}
            class="rows-row"
            role="row"
            aria-rowindex={from + at + 2}
            style={{ top: px((from + at) * height), height: px(height) }}
          >
            {row(item, from + at)}
          </div>
        ))}
      </div>
    </div>
  );
}
