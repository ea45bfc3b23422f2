"""Plans for the tests of their reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planning.plan.answer import PlanRun
from planning.plan.constraint_changes import ChangedField, ConstraintChange
from planning.plan.plan import ManifestPlan, UnfinishedWorkload
from planning.plan.plan_differences import Source
from planning.simulation.outcome import Cause, Verdict
from policies.lint.baseline import RaisedFinding
from policies.manifests.fields import ErrorKind, FieldError, FieldPath
from policies.manifests.findings import Finding, Location, Severity
from policies.manifests.skipped import Skipped, SkipReason, SourceKind
from policies.model.workload_ref import WorkloadRef
from tests.builders import a_constraint
from tests.planning.autoscaled import groups, needing, planned
from tests.planning.planned import SPREAD, a_deployment, a_set, plan, running
from tests.policies.lint.reports.lint_runs import TEXTS

BIG = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "3"}}}]}


def _everything() -> ManifestPlan:
    """Return a plan with a workload of each action, one of them refused, one deadlocked."""
    tight = a_deployment(1, "tight", spec=BIG)
    tight["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    newer = a_deployment(1, "tight", spec={"containers": [{**BIG["containers"][0], "image": "i:2"}]})
    newer["spec"]["strategy"] = tight["spec"]["strategy"]
    moved = a_deployment(1, "moved")
    moved["spec"]["selector"]["matchLabels"]["tier"] = "front"
    moved["spec"]["template"]["metadata"]["labels"] = {"app": "moved", "tier": "front"}
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    fill = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "2"}}}]}
    before = a_set(
        a_deployment(2, "old"), a_deployment(3), tight, a_deployment(1, "moved"), a_deployment(1, "same")
    )
    after = a_set(
        a_deployment(6, spec=SPREAD),
        newer,
        moved,
        a_deployment(1, "same"),
        a_deployment(1, "new", spec=claim),
        a_deployment(1, "bad", spec={"topologySpreadConstraints": [a_constraint(maxSkew=0)]}),
        a_deployment(1, "twice"),
        a_deployment(2, "twice"),
    )
    overlays = [Source(f"overlays/{number}.yaml", f"{number}.yaml") for number in range(len(after.workloads))]
    pods = (
        *running("n1", "n1", "n1"),
        *running("n1", "n2", app="old"),
        *running("n3", app="tight", **BIG),
        *running("n1", "n2", app="fill", **fill),
    )
    return plan(before, replace(after, sources=overlays), *pods)


def a_finding(message: str, **fields: Any) -> Finding:
    """Return a finding."""
    where = Location("deploy/web.yaml", 7)
    path = FieldPath(("spec", "replicas"))
    return replace(Finding(Severity.ERROR, where, path, message, "odd", "Deployment web"), **fields)


#: Everything that a report tells.
RUN = PlanRun(
    plan=_everything(),
    compared_with="main",
    new=(a_finding("is odd"),),
    gone=(a_finding("was odd", severity=Severity.NOTE),),
    skipped=(
        Skipped(
            location=Location("charts/web"),
            kind=SourceKind.CHART,
            reason=SkipReason.DOWNLOAD_NEEDED,
            message="needs a download",
            needs=("redis",),
        ),
    ),
    raised=(RaisedFinding(a_finding("is worse", severity=Severity.WARNING), Severity.NOTE),),
    unfinished=(
        UnfinishedWorkload(WorkloadRef("shop", "Deployment.apps", "later"), changed=True),
        UnfinishedWorkload(WorkloadRef("shop", "Deployment.apps", "open"), changed=False),
    ),
    keeps_others=True,
    tool_version="1.2.3",
)
#: Two workloads that share the nodes that come; one gets not enough of them.
SCALED = replace(
    RUN,
    plan=planned(
        [],
        [a_deployment(3, "api", spec=needing("3")), a_deployment(3, "web", spec=needing("3"))],
        documents=groups(a=1, b=2),
    ),
)
#: Nothing to do.
EMPTY = PlanRun(
    plan=plan(a_set(a_deployment(1)), a_set(a_deployment(1))),
    compared_with="HEAD",
)


def _error(text: str) -> FieldError:
    return FieldError(FieldPath((text,)), text, ErrorKind.INVALID, "odd")


def _hostile(text: str) -> PlanRun:
    """Return a run with a text wherever a manifest, a file name or the command line has one."""
    (first, *others) = RUN.plan.changes
    ref, verdict = WorkloadRef(text, text, text), Verdict(cause=Cause.PENDING, sentence=text, message=text)
    assert first.found is not None
    found = replace(first.found, ref=ref, verdicts=(verdict, replace(verdict, why=text)))
    changed = replace(
        first,
        ref=ref,
        builds=(text, text),
        policy=text,
        errors=(_error(text),),
        constraints=(
            ConstraintChange(topology_key=text, fields=(ChangedField(text, text, text),)),
            ConstraintChange(topology_key=text, gone=True),
        ),
        found=found,
    )
    outcome = replace(RUN.plan.outcome, workloads=(found,), not_modeled=(text,), verdict=verdict)
    return replace(
        RUN,
        plan=replace(RUN.plan, changes=(changed, replace(others[0], ref=ref, found=None)), outcome=outcome),
        compared_with=text,
        new=(a_finding(text, title=text, rule=text, location=Location(text)),),
        skipped=(replace(RUN.skipped[0], message=text, location=Location(text), needs=(text,)),),
        unfinished=(UnfinishedWorkload(WorkloadRef(text, text, text), changed=True),),
    )


#: Runs of hostile texts.
HOSTILE_RUNS = TEXTS.map(_hostile)
