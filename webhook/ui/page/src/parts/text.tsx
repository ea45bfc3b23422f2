/** Names, badges and notices: the small parts that every view uses. */
import type { ComponentChildren } from "preact";
import type { GivenUp } from "../api-types";
import type { RequestError } from "../client";
import { number, printable, shortKind } from "../model/words";

/** A name of the cluster. What does not print is shown, its direction moves nothing beside it, a long one breaks. */
export function Name({ children }: { children: string }) {
  return <bdi class="name">{printable(children)}</bdi>;
}

/** A domain: the value of a label, which may be empty. */
export function DomainName({ children }: { children: string }) {
  return children === "" ? <span class="quiet">(empty)</span> : <Name>{children}</Name>;
}

/** A workload's kind, namespace and name. */
export function Title({ kind, namespace, name }: { kind: string; namespace: string; name: string }) {
  return (
    <span class="title">
      <span class="kind">{shortKind(kind)}</span>{" "}
      <span class="namespace">
        <Name>{namespace}</Name>/
      </span>
      <Name>{name}</Name>
    </span>
  );
}

export type Tone = "good" | "warning" | "error" | "note" | "unknown";

export const SIGNS: Record<Tone, string> = { good: "✓", warning: "!", error: "✕", note: "i", unknown: "?" };

/** A word with a sign and a color; the sign says the same as the color. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      {children}
    </span>
  );
}

/** A sentence that must be seen. */
export function Notice({
  tone,
  title,
  children,
  testId,
}: {
  tone: Tone;
  title?: string;
  children?: ComponentChildren;
  testId?: string;
}) {
  return (
    <div class={`notice ${tone}`} role={tone === "error" ? "alert" : "note"} data-testid={testId}>
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      <div>
        {title !== undefined && <strong>{title}</strong>}
        {children}
      </div>
    </div>
  );
}

/** What a change weakens or removes of constraints that may not be broken. */
export function Guarantees({ guarantees }: { guarantees: readonly GivenUp[] }) {
  return (
    <>
      {guarantees.map(({ topologyKey, field, before, after }) => (
        <p key={`${topologyKey} ${field}`} class="quiet">
          Given up: <Name>{topologyKey}</Name>
          {field === "" ? ", all of it" : ` ${field} ${before}, which becomes ${after}`}
        </p>
      ))}
    </>
  );
}

/** What an answer does not cover, said where it is read. */
export function Limits({ title, items }: { title: string; items: readonly string[] }) {
  if (items.length === 0) return null;
  return (
    <Notice tone="note" title={title} testId="limits">
      <ul>
        {items.map((item) => (
          <li key={item}>
            <Name>{item}</Name>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** Why a request failed, and every field that is wrong. */
export function Failure({ error }: { error: RequestError }) {
  // A single problem is the error already.
  const single = error.problems.length === 1 && error.message.includes(error.problems[0]?.message ?? "");
  const others = single ? [] : error.problems;
  // What is only too much for the page is no mistake of anybody.
  const tone = error.problems.length > 0 && !error.problems.some((problem) => problem.severity === "error");
  return (
    <Notice tone={tone ? "warning" : "error"} title={error.message} testId="error">
      {others.length > 0 && (
        <ul>
          {others.map((problem, at) => (
            <li key={at}>
              {problem.line > 0 && <>Line {problem.line}: </>}
              {problem.field !== "" && (
                <>
                  <code>{problem.field}</code>:{" "}
                </>
              )}
              {problem.message}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

/** What a place shows while it waits. */
export function Waiting({ children }: { children: ComponentChildren }) {
  return (
    <p class="waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {children}
    </p>
  );
}

/** What a place shows that has nothing to show. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

/** A number with its name. */
export function Fact({
  label,
  value,
  tone,
  testId,
}: {
  label: string;
  value: number | string;
  tone?: Tone | undefined;
  testId?: string;
}) {
  return (
    <div class={`fact ${tone ?? ""}`} data-testid={testId}>
      <dt>{label}</dt>
      <dd>{typeof value === "number" ? number(value) : value}</dd>
    </div>
  );
}
