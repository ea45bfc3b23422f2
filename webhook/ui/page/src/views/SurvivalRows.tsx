/** What is left of a workload if its fullest domain goes: for each key a dumbbell a domain, from before to after. */
import type { Survival, WorkloadOutcome } from "../api-types";
import { changeWords, domainNoun, domainRows, MOST_ROWS, spreadWords, type DomainRow } from "../model/outcome";
import { count, number } from "../model/words";
import { Badge, DomainName, Name } from "../parts/text";

export function SurvivalRows({ workload }: { workload: WorkloadOutcome }) {
  if (workload.survival.length === 0) return null;
  return (
    <section class="panel" aria-label="If one domain goes" data-testid="survival">
      <h2>What is left if one goes</h2>
      {[...workload.survival]
        .sort((a, b) => domainCount(a) - domainCount(b))
        .map((found) => (
          <Key key={found.topologyKey} found={found} wanted={workload.wanted} />
        ))}
    </section>
  );
}

/** Return how many domains a key has, with those that the answer only counts. */
function domainCount(found: Survival): number {
  return domainRows(found).length + found.otherDomains;
}

function Key({ found, wanted }: { found: Survival; wanted: number | null }) {
  const rows = domainRows(found);
  const most = rows.reduce((a, { before, after }) => Math.max(a, before ?? 0, after), 1);
  const noun = domainNoun(found.topologyKey);
  // Of many domains those that change come first, and are what is to be seen.
  const changed = rows.filter(({ before, after }) => before !== after).length;
  const shown = rows.length > MOST_ROWS ? Math.min(changed, MOST_ROWS) : rows.length;
  return (
    <div class="if-it-goes" data-testid={`survival-${noun}`}>
      <div class="panel-head">
        <h3 title={found.topologyKey}>
          Without the fullest <Name>{noun}</Name>
        </h3>
        <Badge tone={found.stops ? "error" : found.takesMore ? "warning" : "good"}>
          {changeWords(found.leftBefore, found.left)} left{wanted !== null && ` of ${number(wanted)}`}
        </Badge>
      </div>
      <p class="quiet">
        <Name>{spreadWords(found)}</Name>
      </p>
      {shown > 0 && <Rows rows={rows.slice(0, shown)} most={most} noun={noun} />}
      {shown < rows.length && (
        <details>
          <summary>{count(rows.length - shown, shown > 0 ? "more domain" : "domain")}</summary>
          <Rows rows={rows.slice(shown)} most={most} noun={noun} />
        </details>
      )}
      {found.otherDomains > 0 && <p class="quiet">and {count(found.otherDomains, "domain")} that are not listed</p>}
    </div>
  );
}

function Rows({ rows, most, noun }: { rows: readonly DomainRow[]; most: number; noun: string }) {
  return (
    <table class="dumbbells">
      <caption class="hidden">Pods of each {noun}, before and after</caption>
      <tbody>
        {rows.map(({ name, before, after }) => (
          <tr key={name} class={after === 0 && (before ?? 0) > 0 ? "emptied" : ""} data-testid="dumbbell">
            <th scope="row">
              <DomainName>{name}</DomainName>
            </th>
            <td class="number">{changeWords(before, after)}</td>
            <td class="dumbbell" aria-hidden="true">
              <Dumbbell {...{ before, after, most }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Dumbbell({ before, after, most }: { before: number | null; after: number; most: number }) {
  const at = (pods: number): string => `${Math.round((1000 * pods) / most) / 10}%`;
  const was = before ?? after;
  return (
    <span class="dumbbell-line">
      <i class="rod" style={{ left: at(Math.min(was, after)), right: at(most - Math.max(was, after)) }} />
      {before !== null && <i class="was" style={{ left: at(before) }} />}
      <i class="is" style={{ left: at(after) }} />
    </span>
  );
}
