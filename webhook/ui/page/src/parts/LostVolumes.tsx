/** Volumes that no node reaches, as in a lost zone: the pods that wait for it. */
import type { LostVolume } from "../api-types";
import { count } from "../model/words";
import { MOST_LISTED } from "./Evicted";
import { Name, Notice } from "./text";

/** The volumes, each with the nodes that would reach it; nothing without any. */
export function LostVolumes({ volumes }: { volumes: readonly LostVolume[] }) {
  const [first] = volumes;
  if (!first) return null;
  const waits = volumes.length === 1 ? "A pod waits for its volume" : "Pods wait for their volumes";
  return (
    <Notice tone="error" title={`${waits}, which no node reaches.`} testId="lost-volumes">
      <p>Each stays pending until there is such a node again, as when its zone is back.</p>
      <ul>
        {volumes.slice(0, MOST_LISTED).map(({ pod, claim, volume, reachedFrom }) => (
          <li key={`${pod}/${claim}`}>
            <Name>{pod}</Name>: <Name>{volume}</Name>, of claim <Name>{claim}</Name>, is reached from nodes with{" "}
            <code>
              <Name>{reachedFrom}</Name>
            </code>
          </li>
        ))}
      </ul>
      {volumes.length > MOST_LISTED && <p>and {count(volumes.length - MOST_LISTED, "more volume")}</p>}
    </Notice>
  );
}
