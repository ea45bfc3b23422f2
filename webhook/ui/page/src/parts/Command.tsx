/** A command, and a button that copies it. */
import { useState } from "preact/hooks";
import { announce } from "./live";

/** Milliseconds for which the button says what it did. */
const SHOWN = 2000;

export function Command({ text, testId }: { text: string; testId?: string }) {
  const [words, setWords] = useState("Copy");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setWords("Copied");
      announce("Command copied");
    } catch {
      setWords("Not allowed");
    }
    setTimeout(() => {
      setWords("Copy");
    }, SHOWN);
  };
  return (
    <div class="command-line">
      <pre tabIndex={0} data-testid={testId}>
        <code>{text}</code>
      </pre>
      <button
        aria-label={`${words} the command`}
        data-testid="copy-command"
        onClick={() => {
          void copy();
        }}
      >
        {words}
      </button>
    </div>
  );
}
