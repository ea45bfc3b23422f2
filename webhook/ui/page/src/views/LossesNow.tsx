/** What the loss of each domain would do: a matrix of workloads and domains, which leads to each loss. */
import { useState } from "preact/hooks";
import type { Client } from "../client";
import type { Cluster } from "../model/cluster";
import type { Domain } from "../model/layout";
import { askOfCluster } from "../model/whatif";
import { number, shortKey } from "../model/words";
import { Failure, Waiting } from "../parts/text";
import { Headline, type Ways } from "./OutcomeView";
import { LossMatrix } from "./LossMatrix";
import { usePlayed } from "./played";

interface Props {
  client: Client;
  cluster: Cluster;
  rows: string;
  domains: readonly Domain[];
  /** Whether lost nodes stay in the API, as in an outage. */
  outage: boolean;
  onOutage: (outage: boolean) => void;
  ways: Ways;
}

/** Pods and domains up to which nobody has to ask for it: the answer is there in a second or two. */
const QUICK_PODS = 5_000;
const QUICK_DOMAINS = 40;

export function LossesNow({ client, cluster, rows, domains, outage, onOutage, ways }: Props) {
  const { autoscale } = cluster.map;
  const body = {
    ...askOfCluster([], autoscale),
    each: rows,
    ...(outage ? { unreachable: true } : {}),
  };
  const named = domains.filter(({ name }) => name !== null).length;
  const kind = JSON.stringify(body);
  const [asked, setAsked] = useState("");
  const quick = cluster.podCount <= QUICK_PODS && named <= QUICK_DOMAINS;
  const wanted = client.served ? quick || asked === kind : client.answers(body);
  const { data, error, loading } = usePlayed(client, cluster, named > 1 && wanted ? body : null);
  if (named < 2 || (!client.served && !wanted)) return null;
  return (
    <section class="panel" aria-labelledby="losses-now" data-testid="losses">
      <h2 id="losses-now">
        If one {shortKey(rows)} is {outage ? "unreachable" : "lost"}
      </h2>
      {data && !loading && (
        <>
          <Headline outcome={data.outcome} about={null} />
          <LossMatrix outcome={data.outcome} ways={ways} />
        </>
      )}
      {error && <Failure error={error} />}
      {loading && <Waiting>Losing each of {number(named)} in turn…</Waiting>}
      {client.served && (
        <label>
          <input
            type="checkbox"
            checked={outage}
            data-testid="outage"
            onChange={(event) => {
              onOutage(event.currentTarget.checked);
            }}
          />{" "}
          Lost nodes stay in the API, unreachable, as in an outage
        </label>
      )}
      {!wanted && (
        <button
          data-testid="try-losses"
          onClick={() => {
            setAsked(kind);
          }}
        >
          Lose each of {number(named)} in turn
        </button>
      )}
    </section>
  );
}
