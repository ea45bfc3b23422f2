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

export function LossesNow({ client, cluster, rows, domains, link, go }: Props) {
  const named = domains.flatMap(({ name }) => (name === null ? [] : [name]));
  const quick = cluster.podCount <= QUICK_PODS && named.length <= QUICK_DOMAINS;
  const [asked, setAsked] = useState("");
  const [known, setKnown] = useState({ rows, ...(KNOWN.get(cluster)?.get(rows) ?? NONE) });
  const { losses, error } = known.rows === rows ? known : NONE;
  const wanted = quick || asked === rows;
  useEffect(() => {
    const kept = KNOWN.get(cluster) ?? new Map<string, Known>();
    KNOWN.set(cluster, kept);
    const found = new Map(kept.get(rows)?.losses);
    const tell = (failed: RequestError | null): void => {
      kept.set(rows, { losses: new Map(found), error: failed });
      setKnown({ rows, losses: new Map(found), error: failed });
    };
    tell(null);
    if (!wanted) return;
    const controller = new AbortController();
    const ask = async (): Promise<void> => {
      for (const value of named) {
        if (found.has(value)) continue;
        const lost = [{ lose: { topologyKey: rows, value } }];
        found.set(value, await disrupt(client, cluster, lost, controller.signal));
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
  }, [client, cluster, rows, wanted]);
  useShown([...losses.values()]);
  if (named.length < 2) return null;
  const left = named.length - losses.size;
  return (
    <section class="panel" aria-labelledby="losses-now" data-testid="losses">
      <h2 id="losses-now">If one {shortKey(rows)} is lost</h2>
      <ol class="plain">
        {[...losses]
          .sort(([, a], [, b]) => compareDamage(a, b))
          .map(([value, outcome]) => (
            <li key={value} data-testid="loss">
              <Badge tone={verdictTone(outcome)}>
                {shortKey(rows)} <Name>{domainWords(value)}</Name>
              </Badge>{" "}
              <Link to={link({ topologyKey: rows, value })} go={go} testId="landing-loss">
                <Name>{outcome.verdict}</Name>
              </Link>
            </li>
          ))}
      </ol>
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
            setAsked(rows);
          }}
        >
          Lose each of {number(named.length)} in turn
        </button>
      )}
    </section>
  );
}
