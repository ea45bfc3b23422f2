/** The page's light and dark colors: the system's choice, unless the user made one. */
import { useEffect, useState } from "preact/hooks";
import type { Theme } from "../model/draw";

export type Choice = "system" | "light" | "dark";
const STORED = "evenkeel-theme";
const DARK = "(prefers-color-scheme: dark)";

/** Return the user's choice. */
export function storedChoice(): Choice {
  try {
    const stored = localStorage.getItem(STORED);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    // A report that is opened from disk may not have storage.
    return "system";
  }
}

/** Apply a choice, and remember it. */
export function choose(choice: Choice): void {
  const dark = choice === "dark" || (choice === "system" && matchMedia(DARK).matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  try {
    if (choice === "system") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, choice);
  } catch {
    // The choice then holds until the page is closed.
  }
  document.dispatchEvent(new Event("evenkeel-theme"));
}

/** Return the choice and what changes it. */
export function useChoice(): [Choice, (choice: Choice) => void] {
  const [choice, setChoice] = useState(storedChoice);
  useEffect(() => {
    choose(choice);
    const media = matchMedia(DARK);
    const follow = (): void => {
      choose(choice);
    };
    media.addEventListener("change", follow);
    return () => {
      media.removeEventListener("change", follow);
    };
  }, [choice]);
  return [choice, setChoice];
}

/** Return the colors that drawings need, as the style sheet has them now. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    const follow = (): void => {
      setTheme(readTheme());
    };
    follow();
    document.addEventListener("evenkeel-theme", follow);
    return () => {
      document.removeEventListener("evenkeel-theme", follow);
    };
  }, []);
  return theme;
}

function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim() || "#888888";
  return {
    surface: color("surface"),
    node: color("node"),
    line: color("node-line"),
    text: color("text"),
    muted: color("muted"),
    warn: color("warning"),
    bad: color("error"),
    accent: color("accent"),
  };
}
