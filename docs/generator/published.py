"""The JSON Schemas of documents, requests and answers, as files of the packages that read and write them.

``python -m docs.generator.published [--check]`` writes or checks them alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import orjson

from conformance.case import ConformanceCase
from conformance.report_json import ConformanceReport
from docs.generator import openapi
from docs.generator.type_schema import DIALECT, Schema, class_schema, standalone_schema
from planning.advise.json import AdviseAnswer
from planning.audit.deletion_costs_text import DeletionCostsAnswer
from planning.audit.evictions_text import RebalanceAnswer
from planning.audit.json import AuditAnswer
from planning.explain.json import ExplainAnswer
from planning.explain.pending import PendingPodsAnswer
from planning.explain.score_answer import ScoreAnswer
from planning.plan.answer import PlanAnswer
from planning.simulation.outcome import Outcome
from planning.what_if.simulate_json import SimulateAnswer
from policies.admission.preview_report import PolicyPreviewReport
from policies.config.form import schema_file
from policies.config.lint_config import LintConfig
from policies.config.node_groups import InstanceTypes, NodeGroups
from policies.config.own_kinds import OwnKind
from policies.config.spread_policy import API_VERSION, SpreadPolicyDocument
from policies.emit.emit import EmitReport
from policies.lint.policy_check import PolicyCheckReport, PolicyTestReport
from policies.lint.reports.json import LintReport
from policies.rules.base import all_rules
from webhook.http.api_routes import API_ROUTES
from webhook.lint.policy_suites import PolicySuite
from webhook.ui.routes import ROUTES

ROOT: Final = Path(__file__).parents[2]
#: Where schemas are on the web site.
_SITE: Final = "https://evenkeel.dev/schemas/"
#: The kind of each document; one of a command alone has none.
_DOCUMENTS: Final[Mapping[type, str]] = {
    SpreadPolicyDocument: OwnKind.SPREAD_POLICY,
    LintConfig: OwnKind.LINT_CONFIG,
    NodeGroups: OwnKind.NODE_GROUPS,
    InstanceTypes: OwnKind.INSTANCE_TYPES,
    PolicySuite: "",
}
#: The class of each report, the name of its file, its title, and its path on the web site.
_REPORTS: Final = (
    (AdviseAnswer, "advise", "Advice of evenkeel advise", "advise/v1/advise.schema.json"),
    (AuditAnswer, "audit", "An audit of evenkeel audit", "audit/v1/audit.schema.json"),
    (
        DeletionCostsAnswer,
        "deletion_costs",
        "Deletion costs of evenkeel audit",
        "deletion-costs/v1/deletion_costs.schema.json",
    ),
    (ExplainAnswer, "explain", "An explanation of evenkeel explain", "explain.schema.json"),
    (LintReport, "lint", "A run of evenkeel lint", "lint/v1/lint.schema.json"),
    (PendingPodsAnswer, "pending", "Why pods are pending", "pending/v1/pending.schema.json"),
    (PlanAnswer, "plan", "A plan of evenkeel plan", "plan/v1/plan.schema.json"),
    (PolicyCheckReport, "policy_check", "What evenkeel policy check finds", "policy-check-v1.json"),
    (EmitReport, "policy_emit", "What evenkeel policy emit writes", "policy-emit-v1.json"),
    (PolicyPreviewReport, "policy_preview", "What evenkeel policy preview finds", "policy-preview-v1.json"),
    (PolicyTestReport, "policy_test", "What evenkeel policy test finds", "policy-test-v1.json"),
    (RebalanceAnswer, "evictions", "Evictions of evenkeel audit", "evictions/v1/evictions.schema.json"),
    (ScoreAnswer, "score", "An answer of POST /v1/score", "score.schema.json"),
    (SimulateAnswer, "simulate", "A simulation of evenkeel simulate --jsonl", "simulate.schema.json"),
    (Outcome, "what_if", "An outcome of evenkeel what-if", "what-if/v1/what_if.schema.json"),
)


def files() -> Mapping[Path, str]:
    """Return the files of all schemas."""
    bodies = dict.fromkeys(route.body for route in ROUTES if route.body)
    requests = (*dict.fromkeys(route.request for route in API_ROUTES.values()), *bodies, ConformanceCase)
    return {
        **{_beside(kind): schema_text(schema) for kind, schema in document_schemas().items()},
        **{_beside(kind): json_line(_request_schema(kind)) for kind in requests},
        **{ROOT / name: schema_text(schema) for name, schema in report_schemas().items()},
        ROOT / "webhook" / "http" / "openapi.json": json_line(openapi.document()),
    }


def document_schemas() -> dict[type, Schema]:
    """Return the schema of each document, by its type."""
    return {kind: _document_schema(kind, name) for kind, name in _DOCUMENTS.items()}


def _document_schema(kind: type, name: str) -> Schema:
    """Return the schema of a document as it is published: that of its type, with apiVersion and kind."""
    schema = class_schema(kind)
    if kind is SpreadPolicyDocument:
        _add_params(schema["properties"]["spec"]["properties"]["rules"])
    if name:
        schema["required"] = ["apiVersion", "kind", *schema.get("required", ())]
        schema["properties"] = {
            "apiVersion": {"description": "The version of the document.", "const": API_VERSION},
            "kind": {"description": "The kind of the document.", "const": name},
            **schema["properties"],
        }
    place = f"{_SITE}v1alpha1/{schema_file(kind)}"
    return {"$schema": DIALECT, "$id": place, "title": name or kind.__name__, **schema}


def _add_params(rules: Schema) -> None:
    """Add the settings that rules have of their own to the schema of a policy's rules."""
    rules["allOf"] = [
        {
            "patternProperties": {
                f"^{rule.id}$": {"properties": {"params": class_schema(rule.params)}}
                for rule in all_rules().values()
                if rule.params is not None
            }
        }
    ]


def _request_schema(kind: type) -> Schema:
    return {"$schema": DIALECT, "title": kind.__name__, **class_schema(kind)}


def report_schemas() -> dict[str, Schema]:
    """Return the schemas of what commands print as JSON, by their files below the root."""
    reports = {
        f"{_folder(kind)}/{name}.schema.json": standalone_schema(kind, title, path)
        for kind, name, title, path in _REPORTS
    }
    conformance = standalone_schema(ConformanceReport, "A run of evenkeel conformance", "conformance-v1.json")
    return {**reports, "conformance/conformance.schema.json": conformance}


def _folder(kind: type) -> str:
    first, second, *_ = kind.__module__.split(".")
    return f"{first}/{'schemas' if first == 'planning' else second}"


def schema_text(schema: Schema) -> str:
    """Return a schema as a checked-in file has it."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def json_line(schema: Schema) -> str:
    """Return a schema as a file has it that people read as a page (``docs/reference/http.md``)."""
    return orjson.dumps(schema, option=orjson.OPT_APPEND_NEWLINE).decode()


def _beside(kind: type) -> Path:
    """Return the file of a type's schema, in the folder of its module."""
    return ROOT.joinpath(*kind.__module__.split(".")).with_name(schema_file(kind))


def write_or_check(files: Mapping[Path, str], arguments: list[str]) -> int:
    """Write generated files, or with ``--check`` compare them; returns the exit code.

    Args:
        files: What each file should hold.
        arguments: Of the command.
    """
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m docs.generator [--check]\n")
        return 2
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in stale:
        if arguments:
            sys.stderr.write(f"{path}: stale; run `make generate` and commit the result\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(write_or_check(files(), sys.argv[1:]))
