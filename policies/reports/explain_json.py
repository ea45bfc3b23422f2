"""An explanation as one JSON object: everything that its text says as values, and the text itself."""

from __future__ import annotations

import orjson

from policies.manifests.edits import Edit
from policies.manifests.fields import shown
from policies.model.workload import Workload
from policies.placement.explain import Explained
from policies.placement.outvoted import OutvotedSpread
from policies.placement.placement import Placement
from policies.placement.replicas import Replicas
from policies.placement.suggestions import ExternalChange, Suggestion
from policies.reports import explain_answer, explain_text, suggestion_answer
from policies.reports.profile_text import not_modeled
from policies.reports.score_json import constraint_fields, profile_fields, replicas_from, revision_fields
from policies.reports.suggestion_cost import cost_of, how_edited
from policies.reports.suggestion_text import in_cluster
from policies.scheduler.changes import Change, ClusterChange
from policies.scheduler.domain_stats import ConstraintStats, DomainStats
from policies.scheduler.explanation import Tier
from policies.scheduler.rejections import RejectedNodes, Rejection, Shortage, SkewViolation
from policies.scheduler.releases import judged_as

#: Columns of the text: what terminals have had for long.
TEXT_WIDTH = 80


def render(explained: Explained) -> bytes:
    """Return an explanation as one line of JSON, without its end.

    Amounts of cpu are thousandths, all others units; the schema of the route says the rest.
    """
    placement, verdict = explained.placement, explained.placement.verdict
    explanation, suggestions = explained.explanation, explained.remedies
    text = explain_text.render(explained, width=TEXT_WIDTH, color=False)
    answer: explain_answer.ExplainAnswer = {
        "kubernetesVersion": str(placement.version),
        "judgedAs": judged_as(placement.version).exact,
        "dropped": placement.dropped,
        "object": _object(placement),
        "revision": revision_fields(placement),
        "fits": bool(verdict.feasible_count),
        "nodes": len(verdict.names),
        "feasibleNodes": verdict.feasible_count,
        "atMost": verdict.request.is_upper_bound,
        "runningNodes": placement.running,
        "replicas": _replicas(explained.replicas, placement.workload),
        "message": verdict.message,
        "replicaMessage": explained.stuck_message,
        "policy": placement.policy,
        "whyNoConstraints": None if placement.why_none is None else str(placement.why_none),
        "constraints": list(map(_constraint, explanation.constraints)),
        "refusing": list(map(group_fields, explanation.rejected)),
        "ranking": list(map(_tier, explanation.tiers)),
        "lead": explanation.lead,
        "outvoted": _outvoted(explained.outvoted),
        "changes": [suggestion_fields(found, placement, explained.replicas) for found in suggestions.found],
        "changesComplete": suggestions.complete,
        "editing": how_edited(placement) if any(found.edits for found in suggestions.found) else "",
        "profile": profile_fields(verdict),
        "notModeled": [*verdict.request.pod.unmodeled, *not_modeled(verdict.request.profile)],
        "text": text.splitlines(),
    }
    return orjson.dumps(answer)


def _outvoted(outvoted: OutvotedSpread | None) -> explain_answer.OutvotedAnswer | None:
    if outvoted is None:
        return None
    found = outvoted.max_skew
    return {
        "chosen": outvoted.chosen,
        "preferred": outvoted.preferred,
        "margin": outvoted.margin,
        "plugins": [{"plugin": plugin, "points": points} for plugin, points in outvoted.gains],
        "weight": outvoted.weight,
        "maxSkew": None if found is None else found.max_skew,
        "maxSkewOf": [] if found is None else list(found.constraints),
        "complete": outvoted.complete,
    }


def _object(placement: Placement) -> explain_answer.ExplainedObject:
    workload = placement.workload
    name = workload.metadata.get("name")
    return {
        "kind": workload.kind.name,
        "namespace": workload.namespace,
        "name": name if isinstance(name, str) else "",
    }


def _constraint(stats: ConstraintStats) -> explain_answer.ExplainedConstraint:
    return {
        **constraint_fields(stats.applied),
        "matchLabelKeys": list(stats.applied.constraint.match_label_keys),
        "countsNothing": stats.counts_nothing,
        "globalMinimum": stats.minimum,
        "weight": stats.weight,
        "domainCount": stats.domain_count,
        "nodesWithoutKey": stats.lacking_nodes,
        "nodesLeftOut": stats.left_out_nodes,
        "histogram": [
            {"matching": bar.matching, "domains": bar.domains, "feasibleDomains": bar.feasible}
            for bar in stats.histogram
        ],
        "domains": list(map(_domain, stats.domains)),
        "allDomains": stats.all_listed,
    }


def _domain(domain: DomainStats) -> explain_answer.ExplainedDomain:
    return {
        "value": domain.value,
        "matching": domain.matching,
        "nodes": domain.nodes,
        "counted": domain.counted,
        "skew": domain.skew,
        "fits": domain.fits,
        "feasibleNodes": domain.feasible,
    }


def group_fields(group: RejectedNodes) -> explain_answer.RejectedGroup:
    """Return nodes that are refused for the same reasons."""
    return {
        "nodes": group.count,
        "examples": list(group.examples),
        "refusals": list(map(_rejection, group.rejections)),
    }


def _rejection(rejection: Rejection) -> explain_answer.GroupRejection:
    taint = rejection.taint
    return {
        "plugin": rejection.plugin,
        "reasons": list(rejection.texts),
        "code": rejection.code,
        "taint": None if taint is None else {"key": taint.key, "value": taint.value, "effect": taint.effect},
        "shortages": list(map(_shortage, rejection.shortages)),
        "breaches": list(map(_violation, rejection.violations)),
    }


def _shortage(shortage: Shortage) -> explain_answer.ResourceShortage:
    return {
        "resource": shortage.resource,
        "requested": shortage.requested,
        "leastLeft": shortage.least,
        "mostLeft": shortage.most,
    }


def _violation(violation: SkewViolation) -> explain_answer.ConstraintViolation:
    lacks = violation.lacks_key
    return {
        "constraint": violation.constraint,
        "missingKey": lacks,
        "domain": violation.domain,
        "domains": violation.domains,
        "matching": None if lacks else violation.matching,
        "leastSkew": None if lacks else violation.least,
        "mostSkew": None if lacks else violation.most,
    }


def _tier(tier: Tier) -> explain_answer.ScoreTier:
    points = None if tier.score is None else tier.points
    return {"score": tier.score, "points": points, "nodes": tier.count, "examples": list(tier.examples)}


def _replicas(replicas: Replicas | None, workload: Workload) -> explain_answer.ReplicaCounts | None:
    if replicas is None:
        return None
    return {
        "wanted": replicas.wanted,
        "wantedFrom": replicas_from(workload),
        "placed": replicas.placed,
        "fitting": replicas.fitting,
        "complete": replicas.complete,
    }


def suggestion_fields(
    suggestion: Suggestion, placement: Placement, before: Replicas | None
) -> suggestion_answer.SuggestedChange:
    """Return a suggestion for programs.

    Args:
        suggestion: The suggestion.
        placement: Of the pod that it makes fit.
        before: How many replicas fit without any change.
    """
    return {
        "kinds": [change.what for change in suggestion.changes],
        "edits": list(map(edit_fields, suggestion.edits)),
        "elsewhere": list(map(_elsewhere, suggestion.elsewhere)),
        "inCluster": _in_cluster(suggestion.in_cluster),
        "feasibleNodes": suggestion.feasible,
        "examples": list(suggestion.examples),
        "replicasBefore": None if before is None else before.fitting,
        "replicasAfter": None if suggestion.replicas is None else suggestion.replicas.fitting,
        "enough": suggestion.replicas is None or suggestion.replicas.enough,
        "costs": [cost_of(change, placement) for change in suggestion.changes],
        "caution": any(isinstance(change, Change) and change.hollow for change in suggestion.changes),
    }


def _in_cluster(change: ClusterChange | None) -> suggestion_answer.SuggestedClusterChange | None:
    if change is None:
        return None
    return {
        "text": in_cluster(change),
        "nodes": list(change.nodes),
        "count": change.count,
        "key": change.key or None,
        "value": change.value,
        "withoutTaints": list(change.without),
    }


def edit_fields(edit: Edit) -> suggestion_answer.FieldEdit:
    """Return an edit of a manifest."""
    return {
        "field": str(edit.path),
        "path": list(edit.path.segments),
        "old": _value(edit.old),
        "new": edit.new,
    }


def _value(raw: object) -> object:
    """Return a value of a manifest, as text if it is no JSON of 64 bits and Unicode."""
    try:
        return orjson.Fragment(orjson.dumps(raw))
    except TypeError:
        return shown(raw)


def _elsewhere(elsewhere: ExternalChange) -> suggestion_answer.DefaultConstraintEdit:
    constraint, change = elsewhere.constraint, elsewhere.change
    return {
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": constraint.when_unsatisfiable,
        "field": change.what,
        "new": change.value,
    }
