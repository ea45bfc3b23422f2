/** What a report is about, for who is sent it alone. */
import type { ReportAbout } from "../api-types";
import { Name } from "../parts/text";

/** What happened to what, in which cluster, when, and what came of it. */
export function About({ about }: { about: ReportAbout }) {
  const { action, verdict, cluster, readAt, writtenAt, command } = about;
  return (
    <section class="report-about" aria-label="About this report" data-testid="report-about">
      {action !== "" && (
        <p class="lead">
          <Name>{`What if ${action}`}</Name>
        </p>
      )}
      {verdict !== "" && (
        <p data-testid="report-verdict">
          <strong>
            <Name>{verdict}</Name>
          </strong>
        </p>
      )}
      <p class="quiet">
        {cluster !== "" && (
          <>
            Cluster <Name>{cluster}</Name>
            {readAt !== "" && (
              <>
                , as of <time dateTime={readAt}>{readAt}</time>
              </>
            )}
            .{" "}
          </>
        )}
        Written <time dateTime={writtenAt}>{writtenAt}</time>
        {command !== "" && (
          <>
            {" "}
            by{" "}
            <code>
              <Name>{command}</Name>
            </code>
          </>
        )}
        .
      </p>
    </section>
  );
}
