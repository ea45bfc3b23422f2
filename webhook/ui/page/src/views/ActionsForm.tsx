/** What happens to nodes in a what-if: a list, and a form that adds to it. */
import { useId, useMemo, useState } from "preact/hooks";
import { MOST_ACTIONS, MOST_ADDED, MOST_KEY, MOST_NAME, TAINT_EFFECTS, type TaintedNode } from "../api-types";
import type { NodeEvent } from "../model/actions";
import { actionWords } from "../model/actions";
import type { Cluster } from "../model/cluster";
import { printable } from "../model/words";
import { Name } from "../parts/text";

interface Props {
  cluster: Cluster;
  actions: readonly NodeEvent[];
  onChange: (actions: NodeEvent[]) => void;
}

const VERBS = [
  { verb: "lose", label: "Lose a domain" },
  { verb: "outage", label: "Make a domain unreachable" },
  { verb: "drain", label: "Drain a node" },
  { verb: "cordon", label: "Cordon a node" },
  { verb: "uncordon", label: "Uncordon a node" },
  { verb: "taint", label: "Taint a node" },
  { verb: "untaint", label: "Remove a taint" },
  { verb: "label", label: "Label a node" },
  { verb: "add", label: "Add nodes" },
] as const;
type Verb = (typeof VERBS)[number]["verb"];
/** What is written of a taint or label of a node. */
const MARKS: Partial<Record<Verb, { words: string; example: string }>> = {
  taint: { words: "Taint key[=value]", example: "team=data" },
  untaint: { words: "Taint key", example: "team" },
  label: { words: "Label key=value", example: "example.com/rack=r2" },
};
/** Values that a field offers; any other may be typed. */
const MOST_OFFERED = 300;

export function ActionsForm({ cluster, actions, onChange }: Props) {
  const [verb, setVerb] = useState<Verb>("lose");
  const keys = cluster.map.topologyKeys;
  const [key, setKey] = useState(keys[0] ?? "");
  const [target, setTarget] = useState("");
  const [taint, setTaint] = useState("");
  const [effect, setEffect] = useState<TaintedNode["effect"]>("NoSchedule");
  const [amount, setAmount] = useState(1);
  const id = useId();
  const byDomain = verb === "lose" || verb === "outage";
  const values = useMemo(
    () =>
      byDomain ? cluster.domains(key).flatMap((domain) => (domain.name === null ? [] : [domain.name])) : cluster.names,
    [cluster, byDomain, key],
  );
  const known = target !== "" && values.includes(target);
  const full = actions.length >= MOST_ACTIONS;
  const add = (): void => {
    const made = make(verb, { key, target, taint, effect, amount });
    if (!made) return;
    onChange([...actions, made]);
    setTarget("");
  };
  return (
    <div class="actions">
      {actions.length > 0 && (
        <ol class="action-list" data-testid="actions">
          {actions.map((action, at) => {
            const words = actionWords(action);
            return (
              <li key={at}>
                <span>
                  {words.before}
                  <Name>{words.name}</Name>
                  {words.after}
                </span>
                <button
                  class="quiet-button"
                  aria-label={printable(`Remove: ${words.before}${words.name}${words.after}`)}
                  onClick={() => {
                    onChange(actions.filter((_, position) => position !== at));
                  }}
                >
                  ✕
                </button>
              </li>
            );
          })}
        </ol>
      )}
      <form
        class="action-form"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <label class="field">
          <span>What happens</span>
          <select
            value={verb}
            data-testid="verb"
            onChange={(event) => {
              setVerb(event.currentTarget.value as Verb);
              setTarget("");
            }}
          >
            {VERBS.map((found) => (
              <option key={found.verb} value={found.verb}>
                {found.label}
              </option>
            ))}
          </select>
        </label>
        {byDomain && (
          <label class="field">
            <span>Topology key</span>
            <select
              value={key}
              data-testid="action-key"
              onChange={(event) => {
                setKey(event.currentTarget.value);
                setTarget("");
              }}
            >
              {keys.map((found) => (
                <option key={found} value={found}>
                  {printable(found)}
                </option>
              ))}
            </select>
          </label>
        )}
        {verb === "add" && (
          <label class="field">
            <span>How many</span>
            <input
              type="number"
              min={1}
              max={MOST_ADDED}
              value={amount}
              onInput={(event) => {
                setAmount(event.currentTarget.valueAsNumber);
              }}
            />
          </label>
        )}
        <label class="field">
          <span>{byDomain ? "Domain" : verb === "add" ? "Like node" : "Node"}</span>
          <input
            list={id}
            value={target}
            required
            maxLength={MOST_KEY}
            autocomplete="off"
            spellcheck={false}
            data-testid="target"
            onInput={(event) => {
              setTarget(event.currentTarget.value);
            }}
          />
          <datalist id={id}>
            {values.slice(0, MOST_OFFERED).map((value) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        </label>
        {verb in MARKS && (
          <>
            <label class="field">
              <span>{MARKS[verb]?.words}</span>
              <input
                value={taint}
                required
                maxLength={MOST_KEY + MOST_NAME}
                placeholder={MARKS[verb]?.example}
                data-testid="taint"
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => {
                  setTaint(event.currentTarget.value);
                }}
              />
            </label>
            {verb === "taint" && (
              <label class="field">
                <span>Effect</span>
                <select
                  value={effect}
                  onChange={(event) => {
                    setEffect(event.currentTarget.value as TaintedNode["effect"]);
                  }}
                >
                  {TAINT_EFFECTS.map((name) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
                </select>
              </label>
            )}
          </>
        )}
        <button type="submit" disabled={!known || full} data-testid="add-action">
          Add
        </button>
        {target !== "" && !known && (
          <p class="field-error" role="status">
            The cluster has no {byDomain ? "domain" : "node"} with this name.
          </p>
        )}
        {full && <p class="field-error">A what-if has at most {MOST_ACTIONS} of these.</p>}
      </form>
    </div>
  );
}

interface Entry {
  key: string;
  target: string;
  taint: string;
  effect: TaintedNode["effect"];
  amount: number;
}

function make(verb: Verb, entry: Entry): NodeEvent | null {
  switch (verb) {
    case "lose":
      return { lose: { topologyKey: entry.key, value: entry.target } };
    case "outage":
      return { lose: { topologyKey: entry.key, value: entry.target, unreachable: true } };
    case "drain":
      return { drain: entry.target };
    case "cordon":
      return { cordon: entry.target };
    case "uncordon":
      return { uncordon: entry.target };
    case "untaint":
      return entry.taint === "" ? null : { untaint: { node: entry.target, key: entry.taint } };
    case "add":
      return Number.isInteger(entry.amount)
        ? { add: { like: entry.target, count: Math.min(MOST_ADDED, Math.max(1, entry.amount)) } }
        : null;
    case "label": {
      const [key = "", ...value] = entry.taint.split("=");
      return key === "" || value.length === 0 ? null : { label: { node: entry.target, key, value: value.join("=") } };
    }
    case "taint": {
      const [key = "", ...value] = entry.taint.split("=");
      return key === "" ? null : { taint: { node: entry.target, key, value: value.join("="), effect: entry.effect } };
    }
  }
}
