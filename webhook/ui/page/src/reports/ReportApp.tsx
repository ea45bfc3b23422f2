/** A report in one file: the views of the page with the answer that the file holds, and no server. */
import { useEffect } from "preact/hooks";
import { shortKind } from "../model/words";
import { Frame } from "../parts/Frame";
import { Name, Notice, Title } from "../parts/text";
import { OutcomeView } from "../views/OutcomeView";
import { SpreadPanel } from "../views/SpreadPanel";
import { About } from "./About";
import { LintView } from "./LintView";
import { PlanView } from "./PlanView";
import type { Report } from "./embedded";

/** A report on its own; a saved view is the page itself. */
type Standalone = Exclude<Report, { kind: "page" }>;

const TITLES: Record<Standalone["kind"], string> = {
  explain: "Explanation",
  "what-if": "What if",
  plan: "Plan",
  lint: "Lint",
};

export function ReportApp({ report }: { report: Standalone | string }) {
  const title = typeof report === "string" ? "Report" : report.about.title || TITLES[report.kind];
  useEffect(() => {
    document.title = `${title} · Evenkeel`;
  }, [title]);
  if (typeof report === "string")
    return (
      <Frame navigation={[]} about={null}>
        <Notice tone="error" title={report} />
      </Frame>
    );
  return (
    <Frame
      navigation={[]}
      about={
        <>
          <span>
            {TITLES[report.kind]} by Evenkeel {report.evenkeel}
          </span>
          <span>Kubernetes {releaseOf(report)}</span>
        </>
      }
    >
      <h1 data-testid="report-title">
        <Name>{title}</Name>
      </h1>
      <div class="stack">
        <About about={report.about} />
        <Body report={report} />
      </div>
    </Frame>
  );
}

function releaseOf(report: Standalone): string {
  return report.kind === "plan" ? report.document.outcome.kubernetesVersion : report.document.kubernetesVersion;
}

function Body({ report }: { report: Standalone }) {
  switch (report.kind) {
    case "explain": {
      const { kind, namespace, name } = report.document.object;
      return (
        <>
          {name !== "" && (
            <p class="lead">
              <Title kind={shortKind(kind)} namespace={namespace} name={name} />
            </p>
          )}
          <SpreadPanel explain={report.document} />
        </>
      );
    }
    case "what-if":
      return <OutcomeView outcome={report.document} ways={null} />;
    case "plan":
      return <PlanView plan={report.document} />;
    case "lint":
      return <LintView lint={report.document} />;
  }
}
