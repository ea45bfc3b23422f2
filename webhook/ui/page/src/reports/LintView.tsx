/** The findings of a run of lint, by file. */
import { useMemo, useState } from "preact/hooks";
import { MOST_NAME, type LintReport, type PlanFinding } from "../api-types";
import type { Severity } from "../model/risk";
import { count, number } from "../model/words";
import { Badge, Empty, Fact, Limits, Name, Notice } from "../parts/text";

/** A finding of lint, or of a plan, which has no suggestion. */
type Finding = PlanFinding & Partial<Pick<LintReport["findings"][number], "suggestion" | "see" | "fixable">>;

const SEVERITIES: readonly { severity: Severity; label: string }[] = [
  { severity: "error", label: "Errors" },
  { severity: "warning", label: "Warnings" },
  { severity: "note", label: "Notes" },
];

export function LintView({ lint }: { lint: LintReport }) {
  const [severity, setSeverity] = useState<Severity | null>(null);
  const [text, setText] = useState("");
  const { summary } = lint;
  const shown = useMemo(() => {
    const wanted = text.toLowerCase();
    return lint.findings.filter(
      (found) =>
        (severity === null || found.severity === severity) &&
        (wanted === "" ||
          `${found.file} ${found.rule} ${found.object} ${found.message}`.toLowerCase().includes(wanted)),
    );
  }, [lint, severity, text]);
  return (
    <>
      <dl class="facts" data-testid="lint-summary">
        <Fact label="Errors" value={summary.errors} tone={summary.errors ? "error" : "good"} />
        <Fact label="Warnings" value={summary.warnings} tone={summary.warnings ? "warning" : "good"} />
        <Fact label="Notes" value={summary.notes} />
        <Fact label="Files" value={summary.files} />
        <Fact label="Workloads" value={summary.workloads} />
        {summary.suppressed > 0 && <Fact label="Suppressed" value={summary.suppressed} />}
        {summary.inBaseline > 0 && <Fact label="In the baseline" value={summary.inBaseline} />}
        {(summary.hidden ?? 0) > 0 && <Fact label="Hidden by --min-severity" value={summary.hidden ?? 0} />}
      </dl>
      <Limits
        title="Not read"
        items={(lint.skippedSources ?? []).map(
          (found) =>
            `${found.file}${found.object ? ` (${found.object})` : ""}: ` +
            [found.message, found.suggestion].filter(Boolean).join("; "),
        )}
      />
      <section class="panel" aria-label="Findings">
        <h2 class="hidden">Findings</h2>
        <div class="toolbar">
          <input
            type="search"
            class="grow"
            aria-label="Filter findings"
            placeholder="Filter by file, rule, object or message"
            maxLength={MOST_NAME}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
            }}
          />
          <div class="toggle" role="group" aria-label="Severity">
            <button
              aria-pressed={severity === null}
              onClick={() => {
                setSeverity(null);
              }}
            >
              All
            </button>
            {SEVERITIES.map((found) => (
              <button
                key={found.severity}
                aria-pressed={severity === found.severity}
                onClick={() => {
                  setSeverity(found.severity);
                }}
              >
                {found.label}
              </button>
            ))}
          </div>
          <span class="quiet" role="status">
            {number(shown.length)} of {count(lint.findings.length, "finding")}
          </span>
        </div>
        {shown.length ? (
          <Findings findings={shown} />
        ) : (
          <Empty title={lint.findings.length ? "No finding is left by this filter." : "Nothing was found."} />
        )}
      </section>
      {lint.suppressed.length > 0 && (
        <details class="panel">
          <summary>{count(lint.suppressed.length, "suppressed finding")}</summary>
          <Findings findings={lint.suppressed} />
        </details>
      )}
      {lint.skipped.length > 0 && (
        <Notice tone="note" title="Rules that did not run">
          <ul>
            {lint.skipped.map((found) => (
              <li key={found.rule}>
                <code>{found.rule}</code>: <Name>{found.reason}</Name>
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

/** Text of Evenkeel's own with code between backticks. */
function Marked({ children }: { children: string }) {
  return <>{children.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;
}

/** Findings that are listed at first. */
const SHOWN = 200;

/** Findings under the files that they are in. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  const [all, setAll] = useState(false);
  const files = new Map<string, Finding[]>();
  for (const found of all ? findings : findings.slice(0, SHOWN))
    files.set(found.file, [...(files.get(found.file) ?? []), found]);
  return (
    <>
      {[...files].map(([file, found]) => (
        <section key={file} class="file">
          <h3>
            <Name>{file}</Name> <span class="quiet">{number(found.length)}</span>
          </h3>
          <ul class="findings">
            {found.map((finding, at) => (
              <li key={at} data-testid="finding">
                <Badge tone={finding.severity}>
                  {finding.line === null ? finding.severity : `line ${number(finding.line)}`}
                </Badge>
                <div>
                  <p>
                    <Name>{finding.message}</Name>
                  </p>
                  <p class="quiet">
                    <code>{finding.rule}</code>
                    {finding.object !== "" && (
                      <>
                        {" "}
                        in <Name>{finding.object}</Name>
                      </>
                    )}
                    {finding.field !== "" && (
                      <>
                        ,{" "}
                        <code>
                          <Name>{finding.field}</Name>
                        </code>
                      </>
                    )}
                  </p>
                  {finding.suggestion && (
                    <p class="suggestion">
                      <Marked>{finding.suggestion}</Marked>
                      {finding.fixable === true && <span class="tag">evenkeel lint --fix can do it</span>}
                    </p>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {findings.length > SHOWN && !all && (
        <button
          class="link"
          onClick={() => {
            setAll(true);
          }}
        >
          Show all {number(findings.length)}
        </button>
      )}
    </>
  );
}
