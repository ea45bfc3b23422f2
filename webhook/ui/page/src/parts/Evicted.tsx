/** Pods that were evicted for pods of higher priority, and what became of them. */
import type { DisplacedPod } from "../api-types";
import { number } from "../model/words";
import { Name } from "./text";

/** Pods that a table lists. */
export const MOST_LISTED = 100;

/** The pods as a table; nothing without any. */
export function Evicted({ pods }: { pods: readonly DisplacedPod[] }) {
  if (pods.length === 0) return null;
  return (
    <section class="panel" aria-label="Evicted pods" data-testid="evicted">
      <h3>What is evicted for pods of higher priority</h3>
      <table class="compact">
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col">From</th>
            <th scope="col">For</th>
            <th scope="col">Then</th>
          </tr>
        </thead>
        <tbody>
          {pods.slice(0, MOST_LISTED).map((pod) => (
            <tr key={`${pod.namespace}/${pod.name}`}>
              <th scope="row">
                <Name>{`${pod.namespace}/${pod.name}`}</Name>
              </th>
              <td>
                <Name>{pod.lostNode}</Name>
              </td>
              <td>
                <Name>{pod.evictedFor ?? ""}</Name>
              </td>
              <td>
                <Name>{pod.node === undefined ? (pod.why ?? "pending") : `on ${pod.node}`}</Name>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {pods.length > MOST_LISTED && (
        <p class="quiet">and {number(pods.length - MOST_LISTED)} more, which the JSON has.</p>
      )}
    </section>
  );
}
