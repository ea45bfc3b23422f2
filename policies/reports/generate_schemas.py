"""Write the JSON Schemas of documents and reports, or check that the checked-in ones are current.

``python -m policies.reports.generate_schemas [--check]``
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from policies.config.schema import schema_text, schema_texts
from policies.config.type_schema import Schema, standalone_schema
from policies.reports.advise.json import AdviseAnswer
from policies.reports.audit.json import AuditAnswer
from policies.reports.explain.json import ExplainAnswer
from policies.reports.lint.json import LintReport
from policies.reports.plan.json import PlanReport
from policies.reports.policy.check import PolicyCheckReport
from policies.reports.policy.emit import EmitReport
from policies.reports.policy.preview import PolicyPreviewReport
from policies.reports.policy.samples import PolicyTestReport
from policies.reports.rebalance.deletion_costs import DeletionCostsAnswer
from policies.reports.rebalance.evictions import RebalanceAnswer
from policies.reports.score.answer import ScoreAnswer
from policies.reports.simulate.json import SimulateAnswer
from policies.reports.survive.json import SurviveAllAnswer, SurviveAnswer
from policies.reports.upgrade import DiffAnswer

#: The class of each report, its title, and its path on the web site; by the file of its schema.
_FORMS: Final[Mapping[str, tuple[type, str, str]]] = MappingProxyType(
    {
        "advise.schema.json": (AdviseAnswer, "Advice of evenkeel advise", "advise/v1/advise.schema.json"),
        "audit.schema.json": (AuditAnswer, "An audit of evenkeel audit", "audit/v1/audit.schema.json"),
        "deletion_costs.schema.json": (
            DeletionCostsAnswer,
            "Deletion costs of evenkeel scale",
            "deletion-costs/v1/deletion_costs.schema.json",
        ),
        "diff.schema.json": (DiffAnswer, "A comparison of evenkeel upgrade", "diff/v1/diff.schema.json"),
        "explain.schema.json": (
            ExplainAnswer,
            "An explanation of evenkeel explain",
            "explain.schema.json",
        ),
        "lint.schema.json": (LintReport, "A run of evenkeel lint", "lint/v1/lint.schema.json"),
        "plan.schema.json": (PlanReport, "A plan of evenkeel plan", "plan/v1/plan.schema.json"),
        "policy_check.schema.json": (
            PolicyCheckReport,
            "What evenkeel policy check finds",
            "policy-check-v1.json",
        ),
        "policy_emit.schema.json": (EmitReport, "What evenkeel policy emit writes", "policy-emit-v1.json"),
        "policy_preview.schema.json": (
            PolicyPreviewReport,
            "What evenkeel policy preview finds",
            "policy-preview-v1.json",
        ),
        "policy_test.schema.json": (
            PolicyTestReport,
            "What evenkeel policy test finds",
            "policy-test-v1.json",
        ),
        "rebalance.schema.json": (
            RebalanceAnswer,
            "A plan of evenkeel rebalance",
            "rebalance/v1/rebalance.schema.json",
        ),
        "score.schema.json": (ScoreAnswer, "An answer of evenkeel score", "score.schema.json"),
        "simulate.schema.json": (
            SimulateAnswer,
            "A simulation of evenkeel simulate",
            "simulate.schema.json",
        ),
        "survive.schema.json": (
            SurviveAnswer,
            "An answer of evenkeel survive",
            "survive/v1/survive.schema.json",
        ),
        "survive_all.schema.json": (
            SurviveAllAnswer,
            "An answer of evenkeel survive --all",
            "survive-all/v1/survive_all.schema.json",
        ),
    }
)
#: How the command is called.
MODULE = "policies.reports.generate_schemas"


def main(arguments: list[str]) -> int:
    """Write or check the schemas; returns the exit code."""
    reports = Path(__file__).parent
    files = {reports.parent / "config" / name: text for name, text in schema_texts().items()}
    files |= {reports / name: schema_text(schema) for name, schema in report_schemas().items()}
    return write_or_check(files, arguments, module=MODULE)


def report_schemas() -> dict[str, Schema]:
    """Return the schemas of the reports in JSON, by their files."""
    return {file: standalone_schema(*form) for file, form in _FORMS.items()}


def write_or_check(files: Mapping[Path, str], arguments: list[str], *, module: str) -> int:
    """Write generated files, or with ``--check`` compare them; returns the exit code.

    Args:
        files: What each file should hold.
        arguments: Of the command.
        module: How the command is called.
    """
    if arguments not in ([], ["--check"]):
        sys.stderr.write(f"usage: python -m {module} [--check]\n")
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
    sys.exit(main(sys.argv[1:]))
