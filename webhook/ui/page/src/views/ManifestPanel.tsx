/** The manifest: edited as YAML, checked while it is typed, and what changed. */
import type { ManifestProblem, WorkloadDetail } from "../api-types";
import type { Client } from "../client";
import { count, printable } from "../model/words";
import { Command } from "../parts/Command";
import { useRequest } from "../parts/request";
import { Badge, Failure, Name } from "../parts/text";
import { YamlEditor } from "../parts/YamlEditor";

interface Props {
  client: Client;
  detail: WorkloadDetail;
  manifest: string;
  onManifest: (manifest: string) => void;
}

/** Milliseconds without typing after which a manifest is checked. */
const PAUSE = 250;
const NO_PROBLEMS: readonly ManifestProblem[] = [];

export function ManifestPanel({ client, detail, manifest, onManifest }: Props) {
  const { data, error, loading } = useRequest(manifest, (signal) => client.check(manifest, signal), PAUSE);
  const problems = data?.problems ?? NO_PROBLEMS;
  return (
    <div class="manifest">
      <section class="panel editor-panel" aria-label="Manifest">
        <YamlEditor value={manifest} problems={problems} label="Manifest, YAML" onChange={onManifest} />
        <p class="quiet">Ctrl+Shift+M lists the problems, Tab leaves the editor.</p>
      </section>
      <div class="stack">
        <section class="panel" aria-label="Problems" aria-live="polite" aria-busy={loading}>
          <h2>{problems.length ? count(problems.length, "problem") : loading ? "Checking…" : "No problem found"}</h2>
          {error && <Failure error={error} />}
          <ul class="problems" data-testid="problems">
            {problems.map((problem, at) => (
              <li key={at}>
                <Badge tone={problem.severity}>{problem.line > 0 ? `line ${problem.line}` : problem.severity}</Badge>
                <span>
                  <Name>{problem.message}</Name>{" "}
                  <span class="quiet">
                    {problem.field !== "" && <code>{problem.field}</code>} {problem.rule}
                  </span>
                </span>
              </li>
            ))}
          </ul>
        </section>
        <Changes
          client={client}
          original={detail.manifest}
          manifest={manifest}
          readable={data !== null && data.object !== null && !loading}
        />
      </div>
    </div>
  );
}

/** What an edit changed: a diff, and the patch that makes it. */
interface ChangesProps {
  client: Client;
  original: string;
  manifest: string;
  /** Whether the manifest is an object, so that there is something to compare. */
  readable: boolean;
}

function Changes({ client, original, manifest, readable }: ChangesProps) {
  const changed = manifest !== original;
  const { data, error } = useRequest(
    changed && readable ? `${original}\u0000${manifest}` : null,
    (signal) => client.patch({ original, manifest }, signal),
    PAUSE,
  );
  if (!changed)
    return (
      <section class="panel">
        <h2>Changes</h2>
        <p class="quiet">The copy is as in the cluster.</p>
      </section>
    );
  return (
    <section class="panel" aria-label="Changes" data-testid="changes">
      <h2>Changes</h2>
      {error && <Failure error={error} />}
      {!readable && <p class="quiet">They are shown once the manifest can be read.</p>}
      {data && readable && (
        <>
          <pre class="diff">
            <code>
              {data.diff.split("\n").map((line, at) => (
                <span key={at} class={lineClass(line)}>
                  {printable(line)}
                  {"\n"}
                </span>
              ))}
            </code>
          </pre>
          {data.command !== "" && (
            <>
              <h3>Apply it with</h3>
              <Command text={data.command} />
            </>
          )}
        </>
      )}
    </section>
  );
}

function lineClass(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "diff-file";
  return line.startsWith("+")
    ? "diff-added"
    : line.startsWith("-")
      ? "diff-removed"
      : line.startsWith("@@")
        ? "diff-place"
        : "";
}
