"""How the workloads of a cluster are spread now, as numbers for programs or as text for people."""

from __future__ import annotations

import time
from importlib.metadata import version

from policies.reports.audit import json as audit_json
from policies.reports.audit import text as audit_text
from webhook.http.api import ApiCall, ApiReply
from webhook.requests.audit import audit_request


def audit(call: ApiCall) -> ApiReply:
    """Audit how every workload of a cluster is spread now, the riskiest first."""
    run = audit_request(
        call.body,
        call.context,
        call.workloads,
        now=call.now,
        tool_version=version("evenkeel"),
        stop=lambda: time.monotonic() >= call.deadline,
    )
    screen = call.screen
    return ApiReply(
        audit_json.render(run)
        if screen is None
        else audit_text.render(run, width=screen.columns, color=screen.color),
        {"nodes": run.cluster.nodes, "workloads": run.total, "problems": run.with_problems, "left": run.left},
    )
