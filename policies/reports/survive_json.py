"""Whether workloads survive single losses, as one JSON object, whose form ``survive.schema.json`` says."""

from __future__ import annotations

import orjson

from policies.model.workload import Workload
from policies.placement.loss import Loss, OtherPods, WorkloadLoss
from policies.placement.survival_report import SurvivalReport
from policies.placement.survive import MOST_MARGIN, DeployedWorkload
from policies.placement.survive_suggestions import SurvivalHelp
from policies.reports import survive_answer
from policies.reports.explain_json import suggestion_fields
from policies.reports.score_json import replicas_from
from policies.scheduler.binding import Step


def render(report: SurvivalReport) -> bytes:
    """Return a report as one line of JSON, without its end.

    Entries of ``losses[].workloads`` are in the order of ``workloads``. ``survives`` is null where no loss
    failed but not all were tried.
    """
    survival, options = report.survival, report.survival.options
    helps = {entry.workload: entry for entry in report.helps}
    answer: survive_answer.SurviveAnswer = {
        "schema": survive_answer.SCHEMA,
        "kubernetesVersion": str(report.version),
        "topologyKey": options.key,
        "domains": len(survival.domains),
        "nodes": survival.cluster.node_count,
        "nodesWithoutKey": survival.without_key,
        "unreachable": options.unreachable,
        "allowMissing": options.allowed_missing,
        "survives": report.verdict,
        "complete": report.complete,
        "workloads": [
            _workload_fields(report, number, deployed, helps.get(number))
            for number, deployed in enumerate(survival.deployed)
        ],
        "losses": list(map(_loss_fields, report.losses)),
        "notJudged": [{**_name_fields(workload), "why": why} for workload, why in report.unjudged],
        "notModeled": list(report.unmodeled),
    }
    return orjson.dumps(answer)


def _name_fields(workload: Workload) -> survive_answer.NamedWorkload:
    return {"kind": workload.kind.name, "namespace": workload.namespace, "name": workload.name}


def _workload_fields(
    report: SurvivalReport, number: int, deployed: DeployedWorkload, found: SurvivalHelp | None
) -> survive_answer.SurvivingWorkload:
    margin = report.margin(number)
    return {
        **_name_fields(deployed.workload),
        "replicas": deployed.wanted,
        "replicasFrom": replicas_from(deployed.workload),
        "required": deployed.required,
        "running": deployed.running,
        "used": deployed.used,
        "placed": deployed.placed,
        "replaced": deployed.replaced,
        **_message_fields(deployed.pending),
        "survives": report.survives(number),
        "margin": margin,
        "marginIsLeast": margin == MOST_MARGIN,
        "changesFor": None if found is None else found.domain,
        "changes": [] if found is None else _changes(found),
    }


def _changes(found: SurvivalHelp) -> list[survive_answer.SurvivalChange]:
    return [
        {
            **suggestion_fields(entry.suggestion, found.placement, found.replicas),
            "survives": entry.survives,
        }
        for entry in found.found
    ]


def _loss_fields(loss: Loss) -> survive_answer.SingleLoss:
    return {
        "domain": loss.domain,
        "nodes": loss.nodes,
        "survives": loss.survives,
        "workloads": list(map(_workload_loss, loss.workloads)),
        "otherPods": _others(loss.others),
    }


def _workload_loss(entry: WorkloadLoss) -> survive_answer.LostReplicas:
    return {
        "displaced": entry.displaced,
        "running": entry.running,
        "missing": max(entry.required - entry.running, 0),
        "survives": entry.survives,
        **_message_fields(entry.pending),
    }


def _others(others: OtherPods | None) -> survive_answer.DisplacedOthers | None:
    if others is None:
        return None
    return {"displaced": others.displaced, "pending": others.pending, "notTried": others.untried}


def _message_fields(step: Step | None) -> survive_answer.PendingMessages:
    """Return what the scheduler says of the first replica that fits nowhere; empty texts if all fit."""
    return {"message": step.message if step else "", "condition": step.condition if step else ""}
