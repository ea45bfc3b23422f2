/** What the loss of each domain would do to the whole cluster, the worst first: found out one after another. */
import { useEffect, useState } from "preact/hooks";
import type { ClusterOutcome, LostDomain } from "../api-types";
import type { Client, RequestError } from "../client";
import type { Cluster } from "../model/cluster";
import type { PageState } from "../model/fragment";
import type { Domain } from "../model/layout";
import { compareDamage } from "../model/moves";
import { count, domainWords, number, shortKey } from "../model/words";
import { Link } from "../parts/Link";
import { asRequestError, useShown } from "../parts/request";
import { Badge, Failure, Name } from "../parts/text";
import { verdictTone } from "./ClusterOutcomeView";
import { disrupt } from "./disruptions";

interface Props {
  client: Client;
  cluster: Cluster;
  rows: string;
  domains: readonly Domain[];
  /** Whether lost nodes stay in the API, as in an outage. */
  outage: boolean;
  onOutage: (outage: boolean) => void;
  /** Returns the page that shows a loss. */
  link: (lose: LostDomain) => PageState;
  go: (state: PageState) => void;
}

/** Pods and domains up to which nobody has to ask for it: the answer is there in a second or two. */
const QUICK_PODS = 5_000;
const QUICK_DOMAINS = 8;

interface Known {
  losses: ReadonlyMap<string, ClusterOutcome>;
  error: RequestError | null;
}

const NONE: Known = { losses: new Map(), error: null };
/** What is known of a cluster by topology key: the page is left and comes back. */
const KNOWN = new WeakMap<Cluster, Map<string, Known>>();

export function LossesNow({ client, cluster, rows, domains, outage, onOutage, link, go }: Props) {
  const lost = (value: string): LostDomain => ({
    topologyKey: rows,
    value,
    ...(outage ? { unreachable: true } : {}),
  });
  const all = domains.flatMap(({ name }) => (name === null ? [] : [name]));
  // A file has those that it was written with.
  const named = all.filter((value) => client.answers({ actions: [{ lose: lost(value) }] }));
  const quick = !client.served || (cluster.podCount <= QUICK_PODS && named.length <= QUICK_DOMAINS);
  const [asked, setAsked] = useState("");
  const kind = `${rows} ${outage ? "outage" : "loss"}`;
  const [known, setKnown] = useState({ kind, ...(KNOWN.get(cluster)?.get(kind) ?? NONE) });
  const { losses, error } = known.kind === kind ? known : NONE;
  const wanted = quick || asked === kind;
  useEffect(() => {
    const kept = KNOWN.get(cluster) ?? new Map<string, Known>();
    KNOWN.set(cluster, kept);
    const found = new Map(kept.get(kind)?.losses);
    const tell = (failed: RequestError | null): void => {
      kept.set(kind, { losses: new Map(found), error: failed });
      setKnown({ kind, losses: new Map(found), error: failed });
    };
    tell(null);
    if (!wanted) return;
    const controller = new AbortController();
    const ask = async (): Promise<void> => {
      for (const value of named) {
        if (found.has(value)) continue;
        found.set(value, await disrupt(client, cluster, [{ lose: lost(value) }], controller.signal));
        tell(null);
      }
    };
    ask().catch((failure: unknown) => {
      if (!controller.signal.aborted) tell(asRequestError(failure));
    });
    return () => {
      controller.abort();
    };
    // The names follow from the cluster and the rows.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [client, cluster, kind, wanted]);
  useShown([...losses.values()]);
  if (all.length < 2 || (!client.served && named.length === 0)) return null;
  const left = named.length - losses.size;
  return (
    <section class="panel" aria-labelledby="losses-now" data-testid="losses">
      <h2 id="losses-now">
        If one {shortKey(rows)} is {outage ? "unreachable" : "lost"}
      </h2>
      <ol class="plain">
        {[...losses]
          .sort(([, a], [, b]) => compareDamage(a, b))
          .map(([value, outcome]) => (
            <li key={value} data-testid="loss">
              <Badge tone={verdictTone(outcome)}>
                {shortKey(rows)} <Name>{domainWords(value)}</Name>
              </Badge>{" "}
              <Link to={link(lost(value))} go={go} testId="landing-loss">
                <Name>{outcome.verdict}</Name>
              </Link>
            </li>
          ))}
      </ol>
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
      {named.length < all.length && (
        <p class="quiet">
          This file has {number(named.length)} of {count(all.length, "loss", "losses")}.
        </p>
      )}
      {error && <Failure error={error} />}
      {left > 0 && wanted && error === null && (
        <p class="quiet" role="status">
          {number(losses.size)} of {count(named.length, "loss", "losses")} tried so far…
        </p>
      )}
      {!wanted && (
        <button
          data-testid="try-losses"
          onClick={() => {
            setAsked(kind);
          }}
        >
          Lose each of {number(named.length)} in turn
        </button>
      )}
    </section>
  );
}
