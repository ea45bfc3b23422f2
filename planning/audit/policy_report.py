"""An audit as the report objects of policy engines, which dashboards for Kubernetes show: one a workload.

Two APIs of one form are in use: ``PolicyReport`` of the policy working group of Kubernetes, and ``Report`` of
OpenReports, its successor.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from planning.audit.run import AuditedCluster, AuditRun
from planning.audit.words import notes, why
from planning.audit.workload_audit import (
    SEVERITIES,
    ConstraintSkew,
    Risk,
    SpreadProblem,
    WorkloadAudit,
)
from policies.manifests.findings import Severity
from policies.manifests.sanitize import one_line
from policies.model.labels import SUBDOMAIN, SUBDOMAIN_LENGTH


class ReportApi(NamedTuple):
    """An API of reports."""

    api_version: str  #: Of its objects.
    kind: str  #: Of a report in a namespace.
    has_source: bool  #: Whether a report names its source, too; results always do.


#: What Kyverno writes by default and Policy Reporter reads.
POLICY_REPORT: Final = ReportApi("wgpolicyk8s.io/v1alpha2", "PolicyReport", has_source=False)
#: Its successor, which Kubewarden writes by default, and Kyverno and Policy Reporter know as well.
OPEN_REPORT: Final = ReportApi("openreports.io/v1alpha1", "Report", has_source=True)
#: Both by the names of their formats.
REPORT_APIS: Final[Mapping[str, ReportApi]] = {"policyreport": POLICY_REPORT, "openreports": OPEN_REPORT}


class ReportResult(StrEnum):
    """The result of a check, as both APIs have it."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    WARN = "warn"
    ERROR = "error"
    SKIP = "skip"


#: The name of the source, the policy and the category of every result.
_SOURCE: Final = "evenkeel"
_POLICY: Final = "evenkeel-audit"
_CATEGORY: Final = "Topology Spread"
_SEVERITIES: Final = MappingProxyType(
    {Severity.ERROR: "high", Severity.WARNING: "medium", Severity.NOTE: "low"}
)
#: What a result says of a workload that does not have a risk.
_PASSED: Final = MappingProxyType(
    {
        Risk.VIOLATED: "every DoNotSchedule constraint is within maxSkew",
        Risk.WOULD_VIOLATE: "pods that run are within maxSkew of what policies give to new pods",
        Risk.PENDING: "no node refuses the pending pods for their spread alone",
        Risk.ONE_DOMAIN: "the pods are not all in one domain that has others beside it",
        Risk.NO_ROOM: "spread does not keep the next replica from every node",
        Risk.NEVER_BINDS: "every constraint can refuse or prefer nodes",
        Risk.UNEVEN: "every ScheduleAnyway constraint is within maxSkew",
    }
)
#: Bytes of the results of one report. `kubectl apply` writes an object into an annotation of itself, and all
#: annotations of an object together have at most 256 KiB; etcd takes 1.5 MB.
MAX_RESULT_BYTES: Final = 150_000
#: Characters of a message, and of a property: no dashboard shows more.
_MAX_MESSAGE, _MAX_PROPERTY = 1_000, 300
#: The groups of Kubernetes' own workloads, whose kinds all have different names.
_BUILT_IN: Final = frozenset({"v1", "apps/v1"})


def render(run: AuditRun, api: ReportApi) -> bytes:
    """Return a ``v1 List`` of the reports on the workloads that a run shows, for ``kubectl apply -f -``."""
    # Each is text as soon as it is made: all objects at once would take several times the memory.
    items = b",\n".join(orjson.dumps(_report(found, run, api)) for found in run.workloads)
    return b'{"apiVersion":"v1","kind":"List","items":[\n' + items + b"\n]}\n"


def _report(found: WorkloadAudit, run: AuditRun, api: ReportApi) -> dict[str, Any]:
    results = list(_bounded(list(_results(found, run.cluster))))
    summary = Counter(result["result"] for result in results)
    return {
        "apiVersion": api.api_version,
        "kind": api.kind,
        "metadata": _metadata(found, run),
        **({"source": _SOURCE} if api.has_source else {}),
        "scope": _reference(found) | {"namespace": found.namespace},
        "summary": {str(outcome): summary[outcome] for outcome in ReportResult},
        "results": results,
    }


def _metadata(found: WorkloadAudit, run: AuditRun) -> dict[str, Any]:
    annotations = {
        "evenkeel.dev/version": run.cluster.tool_version,
        "evenkeel.dev/kubernetes-version": str(run.cluster.version),
        "evenkeel.dev/notes": one_line("; ".join(notes(run))),
    }
    reference = _reference(found)
    return {
        "name": _name(found),
        "namespace": found.namespace,
        "labels": {"app.kubernetes.io/managed-by": _SOURCE},
        "annotations": {key: text for key, text in annotations.items() if text},
        # A report goes with its workload; without all four fields the API server refuses a reference.
        **({"ownerReferences": [reference]} if "uid" in reference and "apiVersion" in reference else {}),
    }


def _reference(found: WorkloadAudit) -> dict[str, str]:
    """Return the fields that references to a workload have, without those that are not known."""
    fields = {"apiVersion": found.api_version, "kind": found.kind, "name": found.name, "uid": found.uid}
    return {name: text for name, text in fields.items() if text}


def _name(found: WorkloadAudit) -> str:
    """Return the name of a report, the same in every audit and of no other workload of the namespace."""
    name = f"evenkeel-{found.kind.lower()}-{found.name}"
    if found.api_version not in _BUILT_IN:
        # Other groups may have kinds of the same name.
        name += f"-{_digest(found)[:8]}"
    is_name = len(name) <= SUBDOMAIN_LENGTH and SUBDOMAIN.fullmatch(name)
    return name if is_name else f"evenkeel-{_digest(found)[:32]}"


def _digest(found: WorkloadAudit) -> str:
    group = found.api_version.rpartition("/")[0]
    return hashlib.sha256(repr((group, found.kind, found.name)).encode()).hexdigest()


def _results(found: WorkloadAudit, cluster: AuditedCluster) -> Iterator[dict[str, Any]]:
    """Yield the result of each check of a workload: its problems, the worst first, then what passed."""
    failed = {problem.risk for problem in found.problems}
    for problem in found.problems:
        fields = {"severity": _SEVERITIES[problem.severity], "properties": _properties(problem, found)}
        yield _result(problem.risk, _outcome(problem), why(problem, found), cluster) | fields
    for risk in _checked(found):
        if risk not in failed:
            fields = {"severity": _SEVERITIES[SEVERITIES[risk]], "properties": _properties(None, found)}
            yield _result(risk, ReportResult.PASS, _PASSED[risk], cluster) | fields


def _result(rule: str, outcome: ReportResult, message: str, cluster: AuditedCluster) -> dict[str, Any]:
    return {
        "source": _SOURCE,
        "policy": _POLICY,
        "rule": rule,
        "category": _CATEGORY,
        "result": outcome,
        "scored": outcome in (ReportResult.PASS, ReportResult.FAIL),
        "message": one_line(message, _MAX_MESSAGE),
        "timestamp": {"seconds": int(cluster.at.timestamp()), "nanos": 0},
    }


def _outcome(problem: SpreadProblem) -> ReportResult:
    if problem.risk is Risk.INVALID:
        return ReportResult.ERROR
    return ReportResult.FAIL if problem.severity is Severity.ERROR else ReportResult.WARN


def _checked(found: WorkloadAudit) -> Iterator[Risk]:
    """Yield the risks that a workload can have, by the constraints in force for it."""
    if found.errors:
        return
    if any(skew.applied.is_hard for skew in found.constraints):
        yield Risk.VIOLATED
    if any(not skew.applied.is_hard for skew in found.constraints):
        yield Risk.UNEVEN
    if found.constraints:
        yield Risk.NEVER_BINDS
    if any(each.running > 1 for each in found.survival):
        yield Risk.ONE_DOMAIN
    if found.wanted != 0:
        yield Risk.PENDING if found.pending else Risk.NO_ROOM


def _properties(problem: SpreadProblem | None, found: WorkloadAudit) -> dict[str, str]:
    """Return the numbers of a result; all properties are texts."""
    fields: dict[str, object] = {
        "replicas": found.wanted,
        "running": found.running,
        "pending": found.pending,
        "room": None if found.room is None else found.room.pods,
        "replicasLeft": "; ".join(
            f"{each.left} without {each.topology_key}={each.fullest}"
            for each in found.survival
            if each.fullest is not None
        )
        or None,
        "spreadPolicy": found.policy,
        "notModeled": ", ".join(found.unmodeled) or None,
    }
    if problem is not None and problem.constraint is not None:
        fields |= _constraint(found.constraints[problem.constraint])
    return {name: one_line(str(value), _MAX_PROPERTY) for name, value in fields.items() if value is not None}


def _constraint(skew: ConstraintSkew) -> dict[str, object]:
    constraint = skew.applied.constraint
    return {
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": constraint.when_unsatisfiable,
        "maxSkew": constraint.max_skew,
        "skew": skew.skew,
        "domains": skew.domains,
        "fullest": skew.fullest,
        "origin": skew.applied.origin,
    }


def _bounded(results: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the results that one object holds; a last one says how many more there are."""
    room = MAX_RESULT_BYTES
    for position, result in enumerate(results):
        room -= len(orjson.dumps(result))
        if room < 0:
            text = f"{len(results) - position:,} more results are not listed: the object would be too large"
            yield {
                **result,
                "rule": "not-listed",
                "result": ReportResult.SKIP,
                "scored": False,
                "message": text,
            }
            return
        yield result
