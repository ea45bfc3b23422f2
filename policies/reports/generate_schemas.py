"""Write the JSON Schemas of documents and reports, or check that the checked-in ones are current.

``python -m policies.reports.generate_schemas [--check]``
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from policies.config.schema import schema_text, schema_texts
from policies.config.type_schema import Schema, standalone_schema
from policies.reports.advise.json import AdviseAnswer
from policies.reports.audit.json import AuditAnswer
from policies.reports.explain.json import ExplainAnswer
from policies.reports.lint.json import LintReport
from policies.reports.plan.json import PlanReport
from policies.reports.policy.check import PolicyCheckReport, PolicyTestReport
from policies.reports.policy.emit import EmitReport
from policies.reports.policy.preview import PolicyPreviewReport
from policies.reports.rebalance.deletion_costs import DeletionCostsAnswer
from policies.reports.rebalance.evictions import RebalanceAnswer
from policies.reports.score.answer import ScoreAnswer
from policies.reports.simulate.json import SimulateAnswer
from policies.reports.survive.json import SurviveAllAnswer, SurviveAnswer
from policies.reports.upgrade import DiffAnswer

#: The class of each report, the name of its file, its title, and its path on the web site.
_FORMS: Final = (
    (AdviseAnswer, "advise", "Advice of evenkeel advise", "advise/v1/advise.schema.json"),
    (AuditAnswer, "audit", "An audit of evenkeel audit", "audit/v1/audit.schema.json"),
    (
        DeletionCostsAnswer,
        "deletion_costs",
        "Deletion costs of evenkeel scale",
        "deletion-costs/v1/deletion_costs.schema.json",
    ),
    (DiffAnswer, "diff", "A comparison of evenkeel upgrade", "diff/v1/diff.schema.json"),
    (ExplainAnswer, "explain", "An explanation of evenkeel explain", "explain.schema.json"),
    (LintReport, "lint", "A run of evenkeel lint", "lint/v1/lint.schema.json"),
    (PlanReport, "plan", "A plan of evenkeel plan", "plan/v1/plan.schema.json"),
    (PolicyCheckReport, "policy_check", "What evenkeel policy check finds", "policy-check-v1.json"),
    (EmitReport, "policy_emit", "What evenkeel policy emit writes", "policy-emit-v1.json"),
    (PolicyPreviewReport, "policy_preview", "What evenkeel policy preview finds", "policy-preview-v1.json"),
    (PolicyTestReport, "policy_test", "What evenkeel policy test finds", "policy-test-v1.json"),
    (RebalanceAnswer, "rebalance", "A plan of evenkeel rebalance", "rebalance/v1/rebalance.schema.json"),
    (ScoreAnswer, "score", "An answer of evenkeel score", "score.schema.json"),
    (SimulateAnswer, "simulate", "A simulation of evenkeel simulate", "simulate.schema.json"),
    (SurviveAnswer, "survive", "An answer of evenkeel survive", "survive/v1/survive.schema.json"),
    (
        SurviveAllAnswer,
        "survive_all",
        "An answer of evenkeel survive --all",
        "survive-all/v1/survive_all.schema.json",
    ),
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
    return {f"{name}.schema.json": standalone_schema(kind, title, path) for kind, name, title, path in _FORMS}


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
