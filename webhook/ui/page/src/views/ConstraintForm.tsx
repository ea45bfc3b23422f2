/** Edits the constraints of a manifest in a form. The server makes the edits, so that comments and layout are kept. */
import { useId } from "preact/hooks";
import type { ExplainAnswer, ConstraintStats, FieldEdit } from "../api-types";
import { labelsOf } from "../model/selectors";
import { printable, shortKind } from "../model/words";
import { NumberInput } from "../parts/NumberInput";
import { Name } from "../parts/text";

interface Props {
  kind: string;
  explain: ExplainAnswer;
  topologyKeys: readonly string[];
  onEdit: (edits: FieldEdit[]) => void;
}

/** Where a kind has its pod's spec. */
function podSpec(kind: string): string[] {
  switch (shortKind(kind)) {
    case "Pod":
      return ["spec"];
    case "CronJob":
      return ["spec", "jobTemplate", "spec", "template", "spec"];
    default:
      return ["spec", "template", "spec"];
  }
}

const LIST = "topologySpreadConstraints";

export function ConstraintForm({ kind, explain, topologyKeys, onEdit }: Props) {
  // Constraints of the pod are in force in the order in which the manifest has them.
  const own = explain.constraints.filter((constraint) => constraint.origin === "pod");
  const labels = explain.constraints.map((constraint) => labelsOf(constraint.selector)).find((found) => found !== null);
  const at = (...path: (string | number)[]): Pick<FieldEdit, "field" | "path"> => {
    const whole = [...podSpec(kind), LIST, ...path];
    return { field: whole.join("."), path: whole };
  };
  const set = (position: number, constraint: ConstraintStats, field: keyof ConstraintStats, value: unknown): void => {
    const edits: FieldEdit[] = [{ ...at(position, field), old: constraint[field], new: value }];
    // Kubernetes refuses minDomains beside ScheduleAnyway.
    if (value === "ScheduleAnyway" && constraint.minDomains > 1)
      edits.push({ ...at(position, "minDomains"), old: constraint.minDomains, new: null });
    onEdit(edits);
  };
  const add = (): void => {
    const used = new Set(own.map((constraint) => constraint.topologyKey));
    const added = {
      maxSkew: 1,
      topologyKey: topologyKeys.find((key) => !used.has(key)) ?? "topology.kubernetes.io/zone",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: labels },
    };
    onEdit([own.length ? { ...at(own.length), old: null, new: added } : { ...at(), old: null, new: [added] }]);
  };
  return (
    <div class="constraint-forms">
      {own.length === 0 && <p class="quiet">The manifest has no constraint of its own.</p>}
      {own.map((constraint, position) => (
        <Fields
          key={position}
          at={position}
          constraint={constraint}
          topologyKeys={topologyKeys}
          edit={(field, value) => {
            set(position, constraint, field, value);
          }}
          onRemove={() => {
            onEdit([{ ...at(position), old: null, new: null }]);
          }}
        />
      ))}
      {labels && (
        <button data-testid="add-constraint" onClick={add}>
          Add a constraint
        </button>
      )}
    </div>
  );
}

interface FieldsProps {
  at: number;
  constraint: ConstraintStats;
  topologyKeys: readonly string[];
  edit: (field: keyof ConstraintStats, value: unknown) => void;
  onRemove: () => void;
}

function Fields({ at, constraint, topologyKeys, edit, onRemove }: FieldsProps) {
  const keys = topologyKeys.includes(constraint.topologyKey) ? topologyKeys : [constraint.topologyKey, ...topologyKeys];
  const hard = constraint.whenUnsatisfiable === "DoNotSchedule";
  return (
    <fieldset data-testid={`form-${at}`}>
      <legend>
        Constraint {at + 1}: <Name>{constraint.topologyKey}</Name>
      </legend>
      <Select
        label="topologyKey"
        value={constraint.topologyKey}
        options={keys}
        onPick={(value) => {
          edit("topologyKey", value);
        }}
      />
      <Select
        label="whenUnsatisfiable"
        value={constraint.whenUnsatisfiable}
        options={["DoNotSchedule", "ScheduleAnyway"]}
        onPick={(value) => {
          edit("whenUnsatisfiable", value);
        }}
      />
      <NumberField
        label="maxSkew"
        value={constraint.maxSkew}
        testId={`max-skew-${at}`}
        onPick={(value) => {
          edit("maxSkew", value);
        }}
      />
      {hard && (
        <NumberField
          label="minDomains"
          value={constraint.minDomains}
          onPick={(value) => {
            edit("minDomains", value);
          }}
        />
      )}
      <Select
        label="nodeTaintsPolicy"
        value={constraint.nodeTaintsPolicy}
        options={["Honor", "Ignore"]}
        onPick={(value) => {
          edit("nodeTaintsPolicy", value);
        }}
      />
      <Select
        label="nodeAffinityPolicy"
        value={constraint.nodeAffinityPolicy}
        options={["Honor", "Ignore"]}
        onPick={(value) => {
          edit("nodeAffinityPolicy", value);
        }}
      />
      <button class="link" onClick={onRemove}>
        Remove this constraint
      </button>
    </fieldset>
  );
}

function Select({
  label,
  value,
  options,
  onPick,
}: {
  label: string;
  value: string;
  options: readonly string[];
  onPick: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          onPick(event.currentTarget.value);
        }}
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {printable(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

function NumberField({
  label,
  value,
  testId,
  onPick,
}: {
  label: string;
  value: number;
  testId?: string;
  onPick: (value: number) => void;
}) {
  const id = useId();
  return (
    <label class="field" for={id}>
      <span>{label}</span>
      <NumberInput id={id} least={1} most={150_000} value={value} testId={testId} onPick={onPick} />
    </label>
  );
}
