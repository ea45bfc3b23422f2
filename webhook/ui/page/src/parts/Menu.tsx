/** A button with choices below it. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface Choice {
  label: string;
  act: () => void;
  testId?: string;
  disabled?: boolean;
}

export function Menu({ label, choices, testId }: { label: string; choices: readonly Choice[]; testId?: string }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (!open) return;
    list.current?.querySelector<HTMLElement>("button:not(:disabled)")?.focus();
    const close = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
    };
  }, [open]);
  const move = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      setOpen(false);
      box.current?.querySelector("button")?.focus();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>("button:not(:disabled)") ?? [])];
    const at = buttons.findIndex((button) => button === document.activeElement);
    buttons[(at + (event.key === "ArrowDown" ? 1 : -1) + buttons.length) % buttons.length]?.focus();
  };
  return (
    <div class="menu" ref={box} onKeyDown={move}>
      <button
        aria-haspopup="menu"
        aria-expanded={open}
        data-testid={testId}
        onClick={() => {
          setOpen(!open);
        }}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <ul role="menu" ref={list} aria-label={label}>
          {choices.map((choice) => (
            <li key={choice.label} role="none">
              <button
                role="menuitem"
                disabled={choice.disabled ?? false}
                data-testid={choice.testId}
                onClick={() => {
                  setOpen(false);
                  choice.act();
                }}
              >
                {choice.label}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
