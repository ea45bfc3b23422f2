/** The nodes that an autoscaler adds for pods, in the server's words. */
import { Name, Notice } from "./text";

export function NewNodes({ lines }: { lines: readonly string[] }) {
  return (
    <Notice
      tone="note"
      title={lines.length > 0 ? "Nodes that come" : "No node comes: no pod needs one."}
      testId="new-nodes-text"
    >
      {lines.length > 0 && (
        <ul>
          {lines.map((line) => (
            <li key={line}>
              <Name>{line}</Name>
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
