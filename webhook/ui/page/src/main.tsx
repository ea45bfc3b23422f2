/** Starts the page: the report that the document holds, or else the page of the server. */
import { render } from "preact";
import { Client, takeToken } from "./client";
import { readReport } from "./reports/embedded";
import { ReportApp } from "./reports/ReportApp";
import "./style/page.css";
import { App } from "./views/App";

const root = document.getElementById("app");
const embedded = document.getElementById("evenkeel-report");
if (root && embedded) render(<ReportApp report={readReport(embedded.textContent)} />, root);
else if (root)
  void takeToken().then((token) => {
    render(<App client={new Client(token)} />, root);
  });
