/** What the loss of each domain does: a row for each workload, a column for each domain, the pods that run as cells. */
import { useState } from "preact/hooks";
import type { Outcome, WorkloadOutcome } from "../api-types";
import { cellOf, changeWords, domainNoun, lostColumns, toneOf, type LostColumn } from "../model/outcome";
import { count, number } from "../model/words";
import { Link } from "../parts/Link";
import { DomainName, SIGNS } from "../parts/text";
import { Linked, type Ways } from "./OutcomeView";

/** Workloads that have a row at first, and that are added to them. */
const SHOWN = 12;
const MORE = 100;
/** Domains that have a column: those whose loss is the worst. */
const MOST_COLUMNS = 24;

export function LossMatrix({ outcome, ways }: { outcome: Outcome; ways: Ways | null }) {
  const [most, setMost] = useState(SHOWN);
  const columns = lostColumns(outcome.outcomes.slice(0, MOST_COLUMNS));
  const left = outcome.outcomes.length - columns.length;
  const noun = domainNoun(outcome.scenario.each ?? columns[0]?.event.lose?.topologyKey ?? "");
  const { workloads } = outcome;
  return (
    <>
      <div class="scrolled" tabIndex={0} role="group" aria-label={`Pods of workloads if one ${noun} is lost`}>
        <table class="matrix compact" data-testid="matrix">
          <caption class="quiet">
            Pods that run right after the loss and in the end; none where it loses no pod.
          </caption>
          <thead>
            <tr>
              <th scope="col">If one {noun} goes</th>
              <th scope="col" class="number">
                Wanted
              </th>
              {columns.map((column) => (
                <th key={column.value} scope="col" data-testid="loss">
                  <Lost {...{ column, noun, ways }} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {workloads.slice(0, most).map((found) => (
              <tr key={`${found.kind}/${found.namespace}/${found.name}`} data-testid="matrix-row">
                <th scope="row">
                  <Linked {...{ found, ways }} lost={null} />
                </th>
                <td class="number">{found.wanted === null ? "–" : number(found.wanted)}</td>
                {columns.map((column) => (
                  <Cell key={column.value} {...{ column, found, ways }} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 && <p class="quiet">and the loss of {count(left, "domain")} that does less harm</p>}
      {workloads.length > most && (
        <button
          class="link"
          onClick={() => {
            setMost(most + MORE);
          }}
        >
          {count(workloads.length - most, "more workload")}
        </button>
      )}
    </>
  );
}

function Lost({ column, noun, ways }: { column: LostColumn; noun: string; ways: Ways | null }) {
  const { event, value, outcome } = column;
  const tone = toneOf(outcome.verdict);
  const words = (
    <>
      {noun} <DomainName>{value}</DomainName>
    </>
  );
  return (
    <span class={`badge ${tone}`} title={outcome.verdict.sentence}>
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      {ways && event.lose ? (
        <Link to={ways.ofLoss(event.lose)} go={ways.go} testId="landing-loss">
          {words}
        </Link>
      ) : (
        words
      )}
    </span>
  );
}

function Cell({ column, found, ways }: { column: LostColumn; found: WorkloadOutcome; ways: Ways | null }) {
  const own = cellOf(column, found);
  const [verdict] = own?.verdicts ?? [];
  if (!own || !verdict) return <td class="number quiet">none</td>;
  const tone = toneOf(verdict);
  const words = changeWords(own.lowest, own.after);
  return (
    <td class={`number cell ${tone}`} title={verdict.sentence} data-testid="cell">
      {ways && column.event.lose ? (
        <Link to={ways.ofWorkload(found, column.event.lose)} go={ways.go}>
          {words}
        </Link>
      ) : (
        words
      )}{" "}
      {tone !== "good" && (
        <span class="mark">
          <span aria-hidden="true">{SIGNS[tone]}</span>
          <span class="hidden">{verdict.sentence}</span>
        </span>
      )}
    </td>
  );
}
