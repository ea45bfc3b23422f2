"""Whether workloads survive losses, as JUnit XML: a suite a workload, a case a loss.

Of a whole cluster it is a suite a loss, a case a workload that loses pods with it.
"""

from __future__ import annotations

from planning.simulation.survive.cluster_loss import ClusterSurvivalReport
from planning.simulation.survive.damage import Damage
from planning.simulation.survive.survival_report import SurvivalReport
from planning.text.words import domain_name, workload_title
from planning.what_if.survive_cluster_text import about, why_open
from policies.manifests.sanitize import one_line
from policies.manifests.words import object_title, plural
from policies.reports.junit import add_case, add_skipped, add_suite, fail, new_report
from policies.reports.junit import render as write
from policies.reports.terminal import MAX_MESSAGE
from policies.scheduler.binding import SchedulingAttempt

#: The case of what runs as things are.
BEFORE = "before a loss"
#: Why a loss has no verdict.
NOT_TRIED = "not tried: ended early"
#: The same of one that lacks replicas without it.
LACKS = "lacks replicas even before a loss"
#: The case of a loss of a cluster that hits no workload, or was not tried.
EVERY = "every workload"
#: The suite of workloads that no loss is tried on.
NOT_EVALUATED = "not evaluated"


def render(report: SurvivalReport) -> str:
    """Return losses that a workload does not survive as failures, and what was not tried as skipped."""
    root = new_report("survive")
    tried = {loss.domain: loss for loss in report.losses}
    for number, deployed in enumerate(report.survival.deployed):
        title = workload_title(deployed.prepared)
        suite = add_suite(root, title)
        before = add_case(suite, BEFORE, title)
        if deployed.lacks:
            fail(before, "lacks", _short(deployed.running, deployed.required), _message(deployed.pending))
        for domain in report.survival.domains:
            name, loss = _without(domain), tried.get(domain)
            if deployed.lacks:
                add_skipped(suite, name, title, LACKS)
            elif loss is None:
                add_skipped(suite, name, title, NOT_TRIED)
            else:
                entry, case = loss.workloads[number], add_case(suite, name, title)
                if not entry.survives:
                    fail(case, "loss", _short(entry.running, entry.required), _message(entry.pending))
    if report.unjudged:
        suite = add_suite(root, NOT_EVALUATED)
        for workload, why in report.unjudged:
            add_skipped(suite, workload.title, NOT_EVALUATED, why)
    return write(root)


def _without(domain: str) -> str:
    return f"without {domain_name(domain)}"


def _message(pending: SchedulingAttempt | None) -> str:
    return "" if pending is None else one_line(pending.message, MAX_MESSAGE)


def _short(running: int, required: int) -> str:
    return f"{running:,} of the {plural(required, 'replica')} run that must"


def render_cluster(report: ClusterSurvivalReport, fail_on: Damage | None) -> str:
    """Return the workloads that each loss does too much damage to as failures.

    Args:
        report: The losses.
        fail_on: The least damage that is too much; None if none is.
    """
    root = new_report("survive --all")
    tried = {loss.impact.domain: loss for loss in report.losses}
    for impact in report.impacts:
        name, loss = _without(impact.domain), tried.get(impact.domain)
        suite = add_suite(root, name)
        if loss is None:
            add_skipped(suite, EVERY, name, NOT_TRIED)
            continue
        is_open = report.survives(loss) is None
        for each in loss.workloads:
            title = object_title(each.ref.kind, each.ref.namespace, each.ref.name)
            if fail_on is not None and each.is_hit(fail_on):
                case = add_case(suite, title, name)
                fail(case, each.damages[0], about(each), one_line(each.message, MAX_MESSAGE))
            elif is_open:
                add_skipped(suite, title, name, why_open(loss))
            else:
                add_case(suite, title, name)
        if not len(suite):
            add_case(suite, EVERY, name)
    return write(root)
