"""The rules over objects that a program sends, before anything applies them."""

from __future__ import annotations

from importlib.metadata import version

from policies.reports.lint import json as lint_json
from webhook.http.api import ApiCall, ApiReply
from webhook.requests.lint import lint_request


def lint(call: ApiCall) -> ApiReply:
    """Run the linter's rules on objects, as ``evenkeel lint -o json`` does."""
    run = lint_request(call.body, call.context, today=call.now.date(), tool_version=version("evenkeel"))
    fields = {
        "objects": len(run.files),
        "workloads": run.result.workloads,
        "findings": len(run.result.findings),
    }
    return ApiReply(lint_json.render(run), fields)
