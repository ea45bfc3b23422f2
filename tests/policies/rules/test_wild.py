"""The findings of the rules in manifests that have the shape of public ones.

Every file and folder of ``tests/data/wild`` is linted as a repository of its own. ``expected.json`` lists the
findings, each of which somebody has judged to be right. After a change of a rule, judge what differs, then
write the list anew: ``pytest tests/policies/rules/test_wild.py --update-golden``, and read the diff.
"""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from policies.config.lint_config import LintConfig, Rendering
from webhook.lint.inputs import Tools, gather_texts
from webhook.lint.run import LintOutcome, build_job, lint_texts
from webhook.lint.tool_limits import Charts

WILD = Path(__file__).parents[2] / "data" / "wild"
EXPECTED, CLUSTER = WILD / "expected.json", WILD / "cluster.json"
CASES = sorted(entry.name for entry in WILD.iterdir() if entry not in (EXPECTED, CLUSTER))
#: The files of a cluster that each case is judged by; empty where nothing is known of the nodes.
CLUSTERS = {"without a cluster": "", "with the nodes of cluster.json": str(CLUSTER)}
#: How the line starts that says what a file is made after; the README beside the data tells them apart.
SOURCED = ("# In the shape of ", "# In the manner of ")
#: The cases that have no workload to evaluate as it is.
WITHOUT_WORKLOADS = ("51-chart", "52-beside")


@cache
def linted(case: str, cluster: str) -> LintOutcome:
    """Lint a case as ``evenkeel lint`` does, without running other programs."""
    texts = gather_texts(
        [str(WILD / case)],
        tools=Tools(charts=Charts(helm=Rendering.OFF), kustomize=Rendering.OFF),
        exclude=None,
    )
    warnings: list[str] = []
    job = build_job(LintConfig(cluster=cluster or None), today=date(2026, 1, 1), warn=warnings.append)
    outcome = lint_texts(texts.texts, job, lambda _read: None)

    assert [] == [*warnings, *texts.problems, *outcome.problems]
    return outcome


def found(case: str, cluster: str) -> list[str]:
    """Return the findings of a case: rule, file, object and field."""
    findings = linted(case, cluster).result.findings
    return [
        f"{finding.rule}: {Path(finding.location.file).relative_to(WILD)}: {finding.title}: {finding.path}"
        for finding in findings
    ]


@pytest.fixture(scope="module")
def expected(request: pytest.FixtureRequest) -> dict[str, dict[str, list[str]]]:
    """Return the agreed findings; with --update-golden write them first."""
    if request.config.getoption("--update-golden"):
        actual = {name: {case: found(case, cluster) for case in CASES} for name, cluster in CLUSTERS.items()}
        EXPECTED.write_text(json.dumps(actual, indent=1) + "\n", encoding="utf-8")
    agreed: dict[str, dict[str, list[str]]] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return agreed


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("case", CASES)
def test_findings(case: str, cluster: str, expected: Any) -> None:
    """The rules find what was agreed on, no more and no less."""
    assert expected[cluster][case] == found(case, CLUSTERS[cluster])


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_case_is_left_over(cluster: str, expected: Any) -> None:
    """The list names no case that is gone."""
    assert CASES == list(expected[cluster])


@pytest.mark.parametrize("case", WITHOUT_WORKLOADS)
def test_what_is_no_manifest(case: str) -> None:
    """Templates, values, definitions and files of other tools are passed over without a finding."""
    assert [] == found(case, "")


@pytest.mark.parametrize("case", [case for case in CASES if case.endswith(".yaml")])
def test_sources_are_named(case: str) -> None:
    """Every file says in its first lines whose shape it has."""
    head = (WILD / case).read_text(encoding="utf-8").splitlines()[:2]

    assert any(line.startswith(SOURCED) and "https://" in line for line in head)
