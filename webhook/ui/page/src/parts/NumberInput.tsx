/** A field for a whole number. What is typed stays while the page around it is drawn anew. */
import type { InputHTMLAttributes } from "preact";
import { useState } from "preact/hooks";

interface Props extends Pick<InputHTMLAttributes, "id" | "aria-label"> {
  value: number;
  least: number;
  most: number;
  testId?: string | undefined;
  /** Is given each number that is typed, not only the one that is left. */
  eager?: boolean;
  onPick: (value: number) => void;
}

export function NumberInput({ value, least, most, testId, eager = false, onPick, ...named }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const pick = (next: number, done: boolean): void => {
    const taken = Math.min(most, Math.max(least, next));
    // While it is typed, a number may only be the beginning of one that is in range.
    if (Number.isInteger(next) && (done || taken === next)) onPick(taken);
  };
  return (
    <input
      {...named}
      type="number"
      min={least}
      max={most}
      value={typed ?? value}
      data-testid={testId}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        if (eager) pick(event.currentTarget.valueAsNumber, false);
      }}
      onChange={(event) => {
        setTyped(null);
        pick(event.currentTarget.valueAsNumber, true);
      }}
      onBlur={() => {
        setTyped(null);
      }}
    />
  );
}
