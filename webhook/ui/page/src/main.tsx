/** Starts the page: the report that the document holds, or else the page of the server. */
import { render } from "preact";
import { Client, RecordedClient, takeToken } from "./client";
import { readReport } from "./reports/embedded";
import { ReportApp } from "./reports/ReportApp";
import "./style/page.css";
import { App } from "./views/App";

const root = document.getElementById("app");
const embedded = document.getElementById("evenkeel-report");
if (root && embedded) {
  const report = readReport(embedded.textContent);
  if (typeof report === "string" || report.kind !== "page") render(<ReportApp report={report} />, root);
  else {
    const { fragment, answers } = report.document;
    if (location.hash === "") history.replaceState(null, "", fragment);
    render(<App client={new RecordedClient(answers)} saved={report} />, root);
  }
} else if (root)
  void takeToken().then((token) => {
    render(<App client={new Client(token)} />, root);
  });
