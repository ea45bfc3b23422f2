"""Audits as report objects of policy engines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from hypothesis import given

from planning.audit.policy_report import OPEN_REPORT, POLICY_REPORT, ReportApi, render
from planning.audit.run import AuditRun
from planning.audit.workload_audit import WorkloadAudit
from tests.planning.audit.audits import HOSTILE_RUNS, an_audit_run

FORM = json.loads((Path(__file__).parents[2] / "data" / "policy-report.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(FORM)
#: Bytes of an object in an annotation of itself, where `kubectl apply` keeps it; with what else is there.
MOST_BYTES = 256 * 1024
APIS = pytest.mark.parametrize("api", [POLICY_REPORT, OPEN_REPORT], ids=["policyreport", "openreports"])


def _reports(run: AuditRun, api: ReportApi = POLICY_REPORT) -> list[dict[str, Any]]:
    answer = json.loads(render(run, api))

    assert ("v1", "List") == (answer["apiVersion"], answer["kind"])
    return list(answer["items"])


def _run_of(*workloads: WorkloadAudit) -> AuditRun:
    return AuditRun.of(workloads, an_audit_run().cluster)


def test_render(golden: Callable[[str, str], str]) -> None:
    """A report for each workload, with its problems and what passed."""
    answer = orjson.loads(render(an_audit_run(top=7, left=2), OPEN_REPORT))
    text = orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    assert golden("policy_report.json", text) == text


@APIS
def test_form(api: ReportApi) -> None:
    """Every report is one of its API; the check is able to fail."""
    reports = _reports(an_audit_run(), api)

    assert 8 == len(reports)
    for report in reports:
        VALIDATOR.validate(report)
        assert not VALIDATOR.is_valid(report | {"more": 1})
        assert not VALIDATOR.is_valid(report | {"results": [{"result": "passed", "policy": ""}]})


def test_nothing() -> None:
    """Without a workload the list is empty."""
    assert [] == _reports(_run_of())


def test_summary_counts_the_results() -> None:
    """Dashboards add up either."""
    for report in _reports(an_audit_run()):
        counts = Counter(result["result"] for result in report["results"])

        assert counts == Counter({name: count for name, count in report["summary"].items() if count})


def test_names() -> None:
    """A report is called after its workload; what can be no name, or is of any group, has a digest."""
    found = an_audit_run().workloads[0]
    clone_set = replace(found, kind="CloneSet", name="web", api_version="apps.kruise.io/v1")
    workloads = [
        replace(found, name="web"),
        clone_set,
        replace(clone_set, api_version="apps.example.com/v1"),
        *(replace(found, name=name) for name in ("W eb", "w eb", "x" * 253)),
    ]
    names = [report["metadata"]["name"] for report in _reports(_run_of(*workloads))]

    assert "evenkeel-statefulset-web" in names
    assert 2 == sum(name.startswith("evenkeel-cloneset-web-") for name in names)
    assert len(workloads) == len(set(names))


def test_owner() -> None:
    """A workload whose uid is known owns its report."""
    found = an_audit_run().workloads[0]
    reports = _reports(_run_of(found, replace(found, name="other", uid="")))
    owners = [report["metadata"].get("ownerReferences", [{}])[0].get("uid") for report in reports]

    assert {found.uid, None} == set(owners)


def test_many_problems() -> None:
    """An object is not larger than `kubectl apply` takes, and says how much is not in it."""
    found = an_audit_run().workloads[0]
    problems, skews = found.problems[:1] * 5_000, found.constraints * 5_000
    (report,) = _reports(_run_of(replace(found, problems=problems, constraints=skews)))
    last = report["results"][-1]

    VALIDATOR.validate(report)
    assert len(orjson.dumps(report)) < MOST_BYTES
    assert ("not-listed", "skip", 1) == (last["rule"], last["result"], report["summary"]["skip"])
    assert 5_000 == len(report["results"]) - 1 + int(last["message"].split()[0].replace(",", "")) - 3


@given(HOSTILE_RUNS)
def test_hostile(run: AuditRun) -> None:
    """Whatever names a cluster has, the reports are of the form and as large as an object may be."""
    for report in _reports(run, OPEN_REPORT):
        VALIDATOR.validate(report)
        assert len(orjson.dumps(report)) < MOST_BYTES
