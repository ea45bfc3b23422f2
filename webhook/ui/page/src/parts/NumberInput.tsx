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
  const pick = (next: number): void => {
    if (Number.isInteger(next) && next >= least && next <= most && next !== value) onPick(next);
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
        if (eager) pick(event.currentTarget.valueAsNumber);
      }}
      onChange={(event) => {
        setTyped(null);
        pick(event.currentTarget.valueAsNumber);
      }}
      onBlur={() => {
        setTyped(null);
      }}
    />
  );
}
