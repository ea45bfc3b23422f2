/** The pods of each domain as bars against the global minimum and maxSkew: a table first, the bars beside the numbers. */
import { useState } from "preact/hooks";
import { foremost, skewScale, type SkewScale } from "../model/skew";
import { count, number } from "../model/words";
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
  /** Counts that the bars leave room for, so that those beside them have the same scale. */
  beside?: readonly number[];
}

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
}: Props) {
  const [most, setMost] = useState(SHOWN);
  const compared = domains.some((domain) => domain.after !== null);
  const noted = domains.some((domain) => domain.note !== undefined);
  const counts = [...beside, ...domains.flatMap((domain) => [domain.pods, domain.after ?? 0])];
  const scale = skewScale(counts, minimum, maxSkew);
  if (domains.length === 0) return <p class="quiet">No eligible node carries this key.</p>;
  const many = domains.length > SHOWN;
  const ordered = many ? foremost(domains) : domains;
  const shown = ordered.slice(0, most);
  return (
    <div class="domains">
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
            <th scope="col" class="bar-head">
              <Legend scale={scale} hard={hard} maxSkew={maxSkew} />
            </th>
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
              <td class="bar-cell" aria-hidden="true">
                <Bar domain={domain} scale={scale} hard={hard} />
              </td>
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
    </div>
  );
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

function Legend({ scale, hard, maxSkew }: { scale: SkewScale; hard: boolean; maxSkew: number }) {
  return (
    <span class="bar-legend">
      <span>
        <i class="key-minimum" />
        minimum {number(scale.minimum)}
      </span>
      <span>
        <i class="key-limit" />
        {hard ? "most allowed" : "wanted at most"} {number(scale.limit)} (maxSkew {number(maxSkew)})
      </span>
    </span>
  );
}

function Bar({ domain, scale, hard }: { domain: DomainCount; scale: SkewScale; hard: boolean }) {
  const shown = domain.after ?? domain.pods;
  const gone = domain.after !== null && domain.pods > shown ? domain.pods : null;
  return (
    <svg class="bar" viewBox="0 0 100 20" preserveAspectRatio="none" focusable="false">
      <rect class="track" x="0" y="6" width="100" height="8" />
      {gone !== null && (
        <rect class="gone" x={scale.at(shown)} y="6" width={scale.at(gone) - scale.at(shown)} height="8" />
      )}
      <rect class="held" x="0" y="6" width={scale.at(Math.min(shown, scale.limit))} height="8" />
      {domain.after !== null && domain.after > domain.pods && (
        <rect
          class="added"
          x={scale.at(domain.pods)}
          y="6"
          width={
            scale.at(Math.min(shown, scale.limit)) > scale.at(domain.pods)
              ? scale.at(Math.min(shown, scale.limit)) - scale.at(domain.pods)
              : 0
          }
          height="8"
        />
      )}
      {shown > scale.limit && (
        <rect
          class={hard ? "excess" : "beyond"}
          x={scale.at(scale.limit)}
          y="3"
          width={scale.at(shown) - scale.at(scale.limit)}
          height="14"
        />
      )}
      <rect class="minimum" x={Math.max(0, scale.at(scale.minimum) - 0.3)} y="0" width="0.6" height="20" />
      {scale.limit <= scale.end && <rect class="limit" x={scale.at(scale.limit) - 0.3} y="0" width="0.6" height="20" />}
    </svg>
  );
}
