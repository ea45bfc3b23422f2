/** The pods of each domain against the global minimum and maxSkew: as columns, and as a table with the numbers. */
import { useState } from "preact/hooks";
import { foremost } from "../model/skew";
import { count, number } from "../model/words";
import { NAMED, PodColumns, type Stack } from "./PodColumns";
import { DomainName } from "./text";

export interface DomainCount {
  name: string;
  pods: number;
  /** Pods after a change; null where nothing is compared. */
  after: number | null;
  /** What else is to say of it, in words. */
  note?: string;
  /** Whether the next pod fits here; null where that is not the question. */
  takes?: boolean | null;
  /** Why it is left out of the minimum, in words. */
  left?: string;
}

interface Props {
  domains: readonly DomainCount[];
  /** The global minimum that skew is measured from. */
  minimum: number;
  maxSkew: number;
  /** Whether the constraint filters nodes. */
  hard: boolean;
  caption: string;
  /** Names of the columns of pods. */
  before?: string;
  after?: string;
  /** Counts that the columns leave room for, so that those beside them have the same scale. */
  beside?: readonly number[];
  /** Pods of the workload without a node. */
  pending?: number;
}

/** Domains that have a column. */
const COLUMNS = 160;
/** Domains that are shown at first. */
const SHOWN = 24;
/** Domains that are added to them. */
const MORE = 200;

export function DomainBars({
  domains,
  minimum,
  maxSkew,
  hard,
  caption,
  before = "Pods",
  after = "After",
  beside = [],
  pending = 0,
}: Props) {
  const [most, setMost] = useState(SHOWN);
  const compared = domains.some((domain) => domain.after !== null);
  const noted = domains.some((domain) => domain.note !== undefined);
  const counts = [...beside, ...domains.flatMap((domain) => [domain.pods, domain.after ?? 0])];
  const limit = minimum + maxSkew;
  if (domains.length === 0) return <p class="quiet">No eligible node carries this key.</p>;
  const many = domains.length > SHOWN;
  const ordered = many ? foremost(domains) : domains;
  const shown = ordered.slice(0, most);
  const drawn = domains.length > COLUMNS ? ordered.slice(0, COLUMNS) : domains;
  const table = (
    <>
      <table class="domain-table" data-testid="domains">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Domain</th>
            <th scope="col" class="number">
              {before}
            </th>
            {compared && (
              <th scope="col" class="number">
                {after}
              </th>
            )}
            {noted && <th scope="col">Next pod</th>}
          </tr>
        </thead>
        <tbody>
          {shown.map((domain) => (
            <tr
              key={domain.name}
              data-testid="domain"
              data-domain={domain.name}
              class={domain.left === undefined ? "" : "left-out"}
            >
              <th scope="row">
                <DomainName>{domain.name}</DomainName>
                {domain.left !== undefined && <span class="quiet"> {domain.left}</span>}
              </th>
              <td class="number">{number(domain.pods)}</td>
              {compared && (
                <td class="number">
                  <After domain={domain} />
                </td>
              )}
              {noted && <td class={domain.takes === true ? "takes" : "refuses"}>{domain.note}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {many && (
        <p class="quiet">
          {number(shown.length)} of {count(domains.length, "domain")}
          {compared ? ": those that change, then the fullest. " : ": the fullest. "}
          {shown.length < domains.length && (
            <button
              class="link"
              onClick={() => {
                setMost(most + MORE);
              }}
            >
              Show more
            </button>
          )}
        </p>
      )}
    </>
  );
  return (
    <div class="domains">
      <Legend minimum={minimum} limit={limit} hard={hard} maxSkew={maxSkew} />
      <PodColumns
        columns={drawn.map((domain) => ({ name: domain.name, stacks: stacksOf(domain, limit, hard) }))}
        others={domains.length - drawn.length}
        most={counts.reduce((a, b) => Math.max(a, b), 0)}
        {...{ pending, minimum, limit, hard }}
      />
      {domains.length <= NAMED ? (
        table
      ) : (
        <details>
          <summary>The numbers of {count(domains.length, "domain")}</summary>
          {table}
        </details>
      )}
    </div>
  );
}

/** Return the pods of a domain: those that stay, come, are above the limit, and are gone. */
function stacksOf({ pods, after }: DomainCount, limit: number, hard: boolean): Stack[] {
  const shown = after ?? pods;
  const within = Math.min(shown, limit);
  const held = Math.min(pods, within);
  return [
    { look: "held", pods: held },
    { look: "added", pods: within - held },
    { look: hard ? "excess" : "beyond", pods: shown - within },
    { look: "gone", pods: Math.max(0, pods - shown) },
  ];
}

function After({ domain }: { domain: DomainCount }) {
  if (domain.after === null) return <>–</>;
  const change = domain.after - domain.pods;
  return (
    <>
      {number(domain.after)}
      {change !== 0 && <span class="change"> {change > 0 ? `+${number(change)}` : `−${number(-change)}`}</span>}
    </>
  );
}

function Legend({ minimum, limit, hard, maxSkew }: { minimum: number; limit: number; hard: boolean; maxSkew: number }) {
  return (
    <p class="bar-legend quiet">
      <span>
        <i class="key-minimum" />
        minimum {number(minimum)}
      </span>
      <span>
        <i class={hard ? "key-limit" : "key-limit soft"} />
        {hard ? "most allowed" : "wanted at most"} {number(limit)} (maxSkew {number(maxSkew)})
      </span>
    </p>
  );
}
