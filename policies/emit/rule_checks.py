"""Rules in CEL: which are, and why the others are not.

A rule needs no entry here. Those of the API server are in ``api_checks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policies.emit.api_checks import API_CHECKS
from policies.emit.cel import Cel, CelCheck, CelContext, NoCel, Over, literal, strings
from policies.model.controller_labels import KNOWN_GROUPS
from policies.model.topology_keys import MISNAMED, RENAMED, RENAMED_SINCE
from policies.rules import (
    match_label_key_never_present,
    selector_empty,
    selector_names_revision_label,
    topology_key_unqualified,
)
from policies.rules.base import AtAdmission, Rule, RuleTarget, ToolParams
from policies.scheduler.releases import behavior_of

_NEEDS_NODES: Final = NoCel("needs the nodes and pods of the cluster")
_NEEDS_OBJECTS: Final = NoCel(
    "needs other objects, such as autoscalers, disruption budgets and other workloads"
)
_NEEDS_SCHEDULER: Final = NoCel("needs the configuration of the scheduler")
_NEEDS_TOOLS: Final = NoCel("needs to know which autoscalers and other tools the cluster has")
_NEEDS_FILES: Final = NoCel("is about files and documents, which admission does not see")
_ABOUT_AFFINITY: Final = NoCel("is about terms of pod affinity, of which only constraints are emitted")
_UNWRITTEN: Final = NoCel("is not written in CEL")

_REVISION_KEYS = literal(match_label_key_never_present.REVISION_KEYS)
#: The keys that no pod has, if none of those that are listed is on the pods, or tells revisions apart.
_NEVER_PRESENT = (
    "constraint.matchLabelKeys.filter(key, !(key in workload.labels) && !(key in workload.made) "
    "&& !constraint.matchLabelKeys.exists(other, (other in workload.labels || other in workload.made) "
    f"&& (other in {_REVISION_KEYS} || !(key in {_REVISION_KEYS}))))"
)
_KNOWN_GROUPS = literal(KNOWN_GROUPS)
_REPEATED = (
    "constraint.matchLabelKeys.filter(key, constraint.matchLabelKeys.filter(other, other == key).size() > 1)"
)
#: The requirements that the labels of the pods do not satisfy, see ``controller_labels.own_mismatch``.
_MISSED_LABELS = (
    "constraint.matchLabels.filter(key, key in workload.labels "
    "? workload.labels[key] != (type(constraint.matchLabels[key]) == string "
    "? constraint.matchLabels[key] : '') "
    ": !workload.isOpen && !(key in workload.made))"
)
_MISSED_REQUIREMENTS = (
    "constraint.matchExpressions.filter(e, workload.isOpen && !(e.key in workload.labels) ? false "
    ": e.operator == 'In' ? (e.key in workload.labels ? !(workload.labels[e.key] in e.values) "
    ": !(e.key in workload.made)) "
    ": e.operator == 'NotIn' ? e.key in workload.labels && workload.labels[e.key] in e.values "
    ": (e.key in workload.labels || e.key in workload.made) == (e.operator == 'DoesNotExist'))"
)
_POD_LABELS = literal(selector_names_revision_label.POD_LABELS)
#: The keys of which the selector wants certain values.
_PINNED = (
    f"constraint.matchLabels.filter(key, key in workload.made && (key in {_POD_LABELS} "
    "? workload.pods > 1 : constraint.matchLabels[key] != workload.made[key])) "
    "+ constraint.matchExpressions.filter(e, e.operator == 'In' && e.key in workload.made "
    f"&& (e.key in {_POD_LABELS} ? e.values.size() < workload.pods : !(workload.made[e.key] in e.values)))"
    ".map(e, e.key)"
)


def _no_spread(context: CelContext) -> CelCheck:
    """Return the check with the settings of a policy."""
    return CelCheck(
        broken=(
            f"workload.replicas >= {context.params.min_replicas} && workload.replicas > 0 "
            "&& !workload.isPatch && !workload.declares && !workload.antiAffinity"
        ),
        message=(
            "': has no topologySpreadConstraints and no podAntiAffinity: ' + string(workload.replicas) "
            "+ ' replicas may share a node'"
        ),
        over=Over.WORKLOAD,
        lacks="replicas that an autoscaler adds are not known",
    )


def _selector_empty(context: CelContext) -> CelCheck:
    """Return the check, with what the release makes of an empty selector."""
    behavior = behavior_of(context.version)
    soft, hard = (
        literal(selector_empty.effect(behavior, context.version, is_hard=is_hard))
        for is_hard in (False, True)
    )
    return CelCheck(
        broken=(
            "constraint.hasSelector && constraint.matchLabels.size() == 0 "
            "&& constraint.matchExpressions.size() == 0 "
            "&& !constraint.matchLabelKeys.exists(key, key in workload.labels || key in workload.made)"
        ),
        message=f"'.labelSelector: ' + (constraint.whenUnsatisfiable == 'DoNotSchedule' ? {hard} : {soft})",
    )


def _topology_key_unqualified(context: CelContext) -> CelCheck:
    """Return the check; a policy's topology shows that nodes have a key."""
    names = strings({key: meant for key, meant in MISNAMED.items() if key not in context.topology_keys})
    return CelCheck(
        broken=f"constraint.topologyKey in {names}",
        message=(
            "'.topologyKey: Kubernetes sets no node label ' + constraint.topologyKey + ', so ' "
            f"+ (constraint.whenUnsatisfiable == 'DoNotSchedule' ? '{topology_key_unqualified.PENDING}' "
            ": 'the constraint does nothing') "
            f"+ '; use ' + {names}[constraint.topologyKey]"
        ),
        lacks=(
            "terms of pod affinity, typing mistakes and invalid label names are not checked; a key "
            "that nodes of the cluster have is reported too unless the policy's topology lists it"
        ),
    )


#: What is in CEL, and what is not for a reason that its module does not show, by rule.
_CHECKS: Final[Mapping[str, Cel]] = {
    **API_CHECKS,
    "affinity-below-min-domains": _NEEDS_OBJECTS,
    "affinity-term-invalid": _ABOUT_AFFINITY,
    "affinity-term-without-selector": _ABOUT_AFFINITY,
    "daemon-set-with-hard-constraint": CelCheck(
        broken="workload.kind.endsWith('/DaemonSet') && constraint.whenUnsatisfiable == 'DoNotSchedule'",
        message=(
            "': cannot spread over ' + constraint.topologyKey + ': each pod of a DaemonSet is bound to its "
            "node, so the constraint can only keep pods off nodes'"
        ),
    ),
    "disruption-budget-conflicts": _NEEDS_OBJECTS,
    "field-not-in-release": NoCel(
        "finds nothing: the API server drops such fields before it evaluates a policy"
    ),
    "hard-zone-spread-without-min-domains": _NEEDS_OBJECTS,
    "match-label-key-never-present": CelCheck(
        broken=(
            f"workload.group in {_KNOWN_GROUPS} && !(workload.kind in ['/Pod', '/PodTemplate']) "
            f"&& !workload.isPatch && {_NEVER_PRESENT}.size() > 0"
        ),
        message=(
            f"'.matchLabelKeys: ' + {_NEVER_PRESENT}.join(', ') "
            "+ ': ignored, pods of this kind have no such label'"
        ),
        lacks="a Deployment whose template an Argo Rollout uses is reported too",
    ),
    "match-label-key-repeated": CelCheck(
        broken=f"!workload.isPod && {_REPEATED}.size() > 0",
        message=(
            f"'.matchLabelKeys: ' + {_REPEATED}[0] "
            "+ ' is listed twice: Kubernetes 1.34+ rejects every pod that has this label'"
        ),
    ),
    "no-spread": _no_spread,
    "revision-key-missing": _NEEDS_OBJECTS,
    "selector-empty": _selector_empty,
    "selector-misses-own-pod": CelCheck(
        broken=(f"!workload.isPatch && ({_MISSED_LABELS}.size() > 0 || {_MISSED_REQUIREMENTS}.size() > 0)"),
        message=(
            "'.labelSelector: does not select this workload\\'s pods: ' + ("
            f"{_MISSED_LABELS}.map(key, 'it requires ' + key + '=' + string(constraint.matchLabels[key]) "
            "+ ', the labels have ' "
            "+ (key in workload.labels ? key + '=' + string(workload.labels[key]) : 'no ' + key)) "
            f"+ {_MISSED_REQUIREMENTS}.map(e, 'it requires ' + e.key + ' ' + e.operator "
            "+ (e.values.size() == 0 ? '' : ' (' + e.values.join(',') + ')'))).join('; ')"
        ),
        lacks="of an Argo Rollout, only labels that its template has are compared",
    ),
    "selector-missing": CelCheck(
        broken="!constraint.hasSelector && !workload.isPatch",
        message=(
            "'.labelSelector: is missing: no pods are counted, so nothing is spread over ' "
            "+ constraint.topologyKey"
        ),
    ),
    "selector-names-revision-label": CelCheck(
        broken=f"({_PINNED}).size() > 0",
        message=(
            f"'.labelSelector: requires certain values of ' + ({_PINNED}).join(', ') "
            "+ ', which the controller generates: it will not match future pods'"
        ),
    ),
    "selector-shared": _NEEDS_OBJECTS,
    "topology-key-deprecated": CelCheck(
        broken=f"constraint.topologyKey in {strings(RENAMED)}",
        message=(
            "'.topologyKey: ' + constraint.topologyKey "
            f"+ ' is deprecated since Kubernetes {RENAMED_SINCE}; ' "
            f"+ 'use ' + {strings(RENAMED)}[constraint.topologyKey]"
        ),
        lacks="terms of pod affinity are not checked",
    ),
    "topology-key-unqualified": _topology_key_unqualified,
    "volume-bound-before-spreading": _NEEDS_OBJECTS,
    "volumes-below-min-domains": _NEEDS_OBJECTS,
}


def check_of(rule: Rule, context: CelContext) -> CelCheck | NoCel:
    """Return a rule in CEL, or why it is not."""
    found = _CHECKS.get(rule.id)
    if found is None:
        return _reason(rule)
    return found(context) if callable(found) else found


def _reason(rule: Rule) -> NoCel:
    """Return why a rule without an entry is not in CEL, as far as its module shows it."""
    if rule.target is RuleTarget.NEXT_POD or rule.needs_inventory:
        return _NEEDS_NODES
    if rule.target is not RuleTarget.WORKLOAD:
        return _NEEDS_FILES
    if rule.needs_profile:
        return _NEEDS_SCHEDULER
    if rule.at_admission is AtAdmission.SKIP:
        return _NEEDS_OBJECTS
    if rule.params is not None and issubclass(rule.params, ToolParams):
        return _NEEDS_TOOLS
    return _UNWRITTEN
