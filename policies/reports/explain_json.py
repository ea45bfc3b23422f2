"""An explanation as one JSON object: everything that its text says as values, and the text itself."""

from __future__ import annotations

from typing import Any

import orjson

from policies.manifests.edits import Edit
from policies.manifests.fields import shown
from policies.placement.explain import Explained
from policies.placement.outvoted import OutvotedSpread
from policies.placement.placement import Placement
from policies.placement.replicas import Replicas
from policies.placement.suggestions import ExternalChange, Suggestion
from policies.reports import explain_text
from policies.reports.profile_text import not_modeled
from policies.reports.score_json import constraint_fields, profile_fields, revision_fields
from policies.reports.suggestion_cost import cost_of, how_edited
from policies.reports.suggestion_text import in_cluster
from policies.scheduler.changes import Change, ClusterChange
from policies.scheduler.domain_stats import ConstraintStats, DomainStats
from policies.scheduler.explanation import Explanation, Tier
from policies.scheduler.rejections import RejectedNodes, Rejection, Shortage, SkewViolation

#: Columns of the text: what terminals have had for long.
TEXT_WIDTH = 80


def render(explained: Explained) -> bytes:
    """Return an explanation as one line of JSON, without its end.

    Amounts of cpu are thousandths, all others units; the schema of the route says the rest.
    """
    placement, verdict = explained.placement, explained.placement.verdict
    text = explain_text.render(explained, width=TEXT_WIDTH, color=False)
    report = {
        "kubernetesVersion": str(placement.version),
        "object": _object(placement),
        "revision": revision_fields(placement),
        "fits": bool(verdict.feasible_count),
        "nodes": len(verdict.names),
        "feasibleNodes": verdict.feasible_count,
        "atMost": verdict.request.is_upper_bound,
        "runningNodes": placement.running,
        "replicas": _replicas(explained.replicas),
        "message": verdict.message,
        "replicaMessage": explained.stuck_message,
        "policy": placement.policy,
        "whyNoConstraints": None if placement.why_none is None else str(placement.why_none),
        **_explanation(explained.explanation),
        "outvoted": _outvoted(explained.outvoted),
        **_remedies(explained),
        "profile": profile_fields(verdict),
        "notModeled": [*verdict.request.pod.unmodeled, *not_modeled(verdict.request.profile)],
        "text": text.splitlines(),
    }
    return orjson.dumps(report)


def _object(placement: Placement) -> dict[str, Any]:
    workload = placement.workload
    name = workload.metadata.get("name")
    return {
        "kind": workload.kind.name,
        "namespace": workload.namespace,
        "name": name if isinstance(name, str) else "",
    }


def _explanation(explanation: Explanation) -> dict[str, Any]:
    return {
        "constraints": list(map(_standing, explanation.constraints)),
        "refusing": list(map(_refusing, explanation.rejected)),
        "ranking": list(map(_tier, explanation.tiers)),
        "lead": explanation.lead,
    }


def _outvoted(outvoted: OutvotedSpread | None) -> dict[str, Any] | None:
    if outvoted is None:
        return None
    found = outvoted.max_skew
    return {
        "chosen": outvoted.chosen,
        "preferred": outvoted.preferred,
        "margin": outvoted.margin,
        "plugins": [{"plugin": str(plugin), "points": points} for plugin, points in outvoted.gains],
        "weight": outvoted.weight,
        "maxSkew": None if found is None else found.max_skew,
        "maxSkewOf": [] if found is None else list(found.constraints),
        "complete": outvoted.complete,
    }


def _standing(standing: ConstraintStats) -> dict[str, Any]:
    return constraint_fields(standing.applied) | {
        "matchLabelKeys": list(standing.applied.constraint.match_label_keys),
        "countsNothing": standing.counts_nothing,
        "globalMinimum": standing.minimum,
        "weight": standing.weight,
        "domainCount": standing.domain_count,
        "nodesWithoutKey": standing.lacking_nodes,
        "nodesLeftOut": standing.left_out_nodes,
        "histogram": [
            {"matching": bar.matching, "domains": bar.domains, "feasibleDomains": bar.feasible}
            for bar in standing.histogram
        ],
        "domains": list(map(_domain, standing.domains)),
        "allDomains": standing.all_listed,
    }


def _domain(domain: DomainStats) -> dict[str, Any]:
    return {
        "value": domain.value,
        "matching": domain.matching,
        "nodes": domain.nodes,
        "counted": domain.counted,
        "skew": domain.skew,
        "fits": domain.fits,
        "feasibleNodes": domain.feasible,
    }


def _refusing(group: RejectedNodes) -> dict[str, Any]:
    return {
        "nodes": group.count,
        "examples": list(group.examples),
        "refusals": list(map(_refusal, group.rejections)),
    }


def _refusal(refusal: Rejection) -> dict[str, Any]:
    taint = refusal.taint
    return {
        "plugin": str(refusal.plugin),
        "reasons": list(refusal.texts),
        "code": str(refusal.code),
        "taint": None if taint is None else {"key": taint.key, "value": taint.value, "effect": taint.effect},
        "shortages": list(map(_shortage, refusal.shortages)),
        "breaches": list(map(_breach, refusal.violations)),
    }


def _shortage(shortage: Shortage) -> dict[str, Any]:
    return {
        "resource": shortage.resource,
        "requested": shortage.requested,
        "leastLeft": shortage.least,
        "mostLeft": shortage.most,
    }


def _breach(breach: SkewViolation) -> dict[str, Any]:
    lacks = breach.lacks_key
    return {
        "constraint": breach.constraint,
        "missingKey": lacks,
        "domain": breach.domain,
        "domains": breach.domains,
        "matching": None if lacks else breach.matching,
        "leastSkew": None if lacks else breach.least,
        "mostSkew": None if lacks else breach.most,
    }


def _tier(tier: Tier) -> dict[str, Any]:
    points = None if tier.score is None else tier.points
    return {"score": tier.score, "points": points, "nodes": tier.count, "examples": list(tier.examples)}


def _replicas(replicas: Replicas | None) -> dict[str, Any] | None:
    if replicas is None:
        return None
    return {
        "wanted": replicas.wanted,
        "placed": replicas.placed,
        "fitting": replicas.fitting,
        "complete": replicas.complete,
    }


def _remedies(explained: Explained) -> dict[str, Any]:
    remedies = explained.remedies
    changes = [_remedy(remedy, explained) for remedy in remedies.found]
    return {
        "changes": changes,
        "changesComplete": remedies.complete,
        "editing": how_edited(explained.placement) if any(remedy.edits for remedy in remedies.found) else "",
    }


def _remedy(remedy: Suggestion, explained: Explained) -> dict[str, Any]:
    before = explained.replicas
    return {
        "kinds": [str(change.what) for change in remedy.changes],
        "edits": list(map(_edit, remedy.edits)),
        "elsewhere": list(map(_elsewhere, remedy.elsewhere)),
        "inCluster": _in_cluster(remedy.in_cluster),
        "feasibleNodes": remedy.feasible,
        "examples": list(remedy.examples),
        "replicasBefore": None if before is None else before.fitting,
        "replicasAfter": None if remedy.replicas is None else remedy.replicas.fitting,
        "enough": remedy.replicas is None or remedy.replicas.enough,
        "costs": [cost_of(change, explained.placement) for change in remedy.changes],
        "caution": any(isinstance(change, Change) and change.hollow for change in remedy.changes),
    }


def _in_cluster(change: ClusterChange | None) -> dict[str, Any] | None:
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


def _edit(edit: Edit) -> dict[str, Any]:
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


def _elsewhere(elsewhere: ExternalChange) -> dict[str, Any]:
    constraint, change = elsewhere.constraint, elsewhere.change
    return {
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": str(constraint.when_unsatisfiable),
        "field": str(change.what),
        "new": change.value,
    }
