/** A field that finds a workload by its name. */
import { useId, useMemo, useState } from "preact/hooks";
import type { WorkloadKey } from "../model/fragment";
import { Title } from "./text";

interface Props {
  workloads: readonly WorkloadKey[];
  label: string;
  onPick: (workload: WorkloadKey) => void;
}

const MOST_SHOWN = 8;

export function WorkloadSearch({ workloads, label, onPick }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const names = useMemo(
    () => workloads.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`.toLowerCase()),
    [workloads],
  );
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const matches: WorkloadKey[] = [];
    for (let position = 0; position < names.length && matches.length < MOST_SHOWN; position += 1) {
      const workload = workloads[position];
      if (workload && words.every((word) => names[position]?.includes(word))) matches.push(workload);
    }
    return matches;
  }, [text, names, workloads]);
  const pick = (workload: WorkloadKey | undefined): void => {
    if (!workload) return;
    setText("");
    onPick(workload);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") pick(found[at]);
    else if (event.key === "Escape") setText("");
  };
  return (
    <div class="search">
      <input
        type="text"
        role="combobox"
        list={undefined}
        aria-label={label}
        placeholder={label}
        aria-expanded={found.length > 0}
        aria-controls={id}
        aria-activedescendant={found.length ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={253}
        value={text}
        data-testid="workload-search"
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      {text !== "" && (
        <ul role="listbox" id={id} aria-label="Workloads">
          {found.map((workload, position) => (
            <li
              key={position}
              id={`${id}-${position}`}
              role="option"
              aria-selected={position === at}
              onPointerDown={(event) => {
                event.preventDefault();
                pick(workload);
              }}
            >
              <Title {...workload} />
            </li>
          ))}
          {found.length === 0 && <li class="none">No workload has that in its name.</li>}
        </ul>
      )}
    </div>
  );
}
