"""Default constraints for what is created: as a patch, and what updates leave of them later.

``kubectl apply`` merges a constraint of one's own into the injected one with the same topology key, and what
it leaves out stays. With server-side apply the injected ones belong to the user who applied the workload, so
that they go with the last of one's own. The annotation that names their policy stays in both cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from policies.admission.decision import ALLOWED, AdmissionVerdict, AdmissionWarning, CacheMiss, Decision
from policies.config.context import AdmissionContext
from policies.config.default_constraints import (
    Injection,
    Skip,
    giving_policy,
    opts_out,
    plan_injection,
    reason_of_object,
)
from policies.config.spread_policy import SpreadPolicy
from policies.manifests.fields import FieldPath, descend, object_items, shown_name, text_member
from policies.manifests.json_patch import AddOperation, add
from policies.manifests.words import plural
from policies.model.pod_template import INJECTED_ANNOTATION, LAST_APPLIED
from policies.model.snapshot import SELECTING_OWNERS
from policies.model.workload import Workload

#: The fields of a constraint that may be left out, so that an update does not show whose they are.
_OPTIONAL = ("matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")


def decide_mutation(workload: Workload, context: AdmissionContext) -> Decision:
    """Decide what a new object gets. It is never refused here, and left alone if it is invalid."""
    policies = context.policies_for(workload)
    miss = missing_for_injection(workload, context, policies)
    if miss is not None:
        return Decision(verdict=AdmissionVerdict.ALLOWED, audit={"injection-skipped": str(miss)}, miss=miss)
    plan = plan_injection(workload, policies, context)
    match plan:
        case None | Skip.HAS_CONSTRAINTS:
            return ALLOWED
        case Skip():
            why = f"{plan}: {context.withheld}" if plan is Skip.WITHHELD else str(plan)
            return Decision(verdict=AdmissionVerdict.ALLOWED, audit={"injection-skipped": why})
    note = _unknown_owner(workload, context)
    # A warning on a pod that a controller creates reaches no person.
    warns = not context.made_by_controller(workload)
    patch = injection_patch(plan, workload.kind.constraints_path, annotated=bool(workload.annotations))
    return Decision(
        verdict=AdmissionVerdict.INJECTED,
        warnings=(_warning_of(plan),) if warns else (),
        patch=patch,
        audit={"injected": f"{plan.policy}: {_describe(plan)}{note}"},
        injected=len(plan.constraints),
    )


def injection_patch(plan: Injection, path: FieldPath, *, annotated: bool) -> tuple[AddOperation, ...]:
    """Return the smallest patch: the list, and the annotation that names its policy.

    Args:
        plan: What is added.
        path: Where the list of constraints is in the object.
        annotated: Whether the object has annotations.
    """
    annotations = ("metadata", "annotations")
    if annotated:
        mark = add((*annotations, INJECTED_ANNOTATION), plan.policy)
    else:
        # The parent of a member must exist, and the API server leaves out an empty map.
        mark = add(annotations, {INJECTED_ANNOTATION: plan.policy})
    return add(path.segments, plan.entries()), mark


def missing_for_injection(
    workload: Workload, context: AdmissionContext, policies: Sequence[SpreadPolicy]
) -> CacheMiss | None:
    """Return the object that injection needs and the cache lacks; None for none, or without injection.

    Args:
        workload: The object.
        context: The cluster.
        policies: Those whose scope matches the object, as far as its namespace is known.
    """
    snapshot = context.snapshot
    if not context.live or snapshot is None or reason_of_object(workload):
        return None
    namespace = snapshot.namespaces.get(workload.namespace)
    if namespace is None:
        policies = context.possible_policies(workload)
    if giving_policy(workload, policies, context) is None:
        return None
    if namespace is None:
        return CacheMiss(workload.namespace)
    owner = workload.owner if workload.kind.is_pod and not opts_out(namespace.annotations) else None
    if owner is None or (owner.api_version, owner.kind) not in SELECTING_OWNERS:
        return None
    miss = CacheMiss(workload.namespace, owner)
    return None if miss.found(snapshot) else miss


def _unknown_owner(workload: Workload, context: AdmissionContext) -> str:
    """Return the note on an owner whose selector is not in the cache, though kube-scheduler may know it."""
    owner = workload.owner
    if owner is None or context.snapshot is None or (owner.api_version, owner.kind) not in SELECTING_OWNERS:
        return ""
    if context.snapshot.controller(owner, workload.namespace):
        return ""
    return f"; without the selector of {owner.kind} {owner.name}, which is not in the cluster cache"


def _warning_of(plan: Injection) -> AdmissionWarning:
    """Return the warning about an injection: the topology keys, by ``whenUnsatisfiable``."""
    keys: dict[str, list[str]] = {}
    for constraint in plan.constraints:
        keys.setdefault(constraint.when_unsatisfiable, []).append(constraint.topology_key)
    given = ", ".join(f"{', '.join(of_kind)} ({action})" for action, of_kind in keys.items())
    count = len(plan.constraints)
    return AdmissionWarning(f"SpreadPolicy {plan.policy} added {plural(count, 'constraint')}: {given}")


def _describe(plan: Injection) -> str:
    constraints = [
        f"{constraint.topology_key} {constraint.when_unsatisfiable} maxSkew {constraint.max_skew}"
        for constraint in plan.constraints
    ]
    return f"topologySpreadConstraints ({', '.join(constraints)})"


def remnants(workload: Workload, old: Workload | None) -> Iterator[AdmissionWarning]:
    """Yield the warnings about an update of a workload that has, or had, injected constraints.

    Args:
        workload: The object as it would be stored.
        old: What is stored now; None for a new object, of which nothing is left.
    """
    policy = workload.annotations.get(INJECTED_ANNOTATION)
    if old is None or policy is None or workload.kind.is_pod or INJECTED_ANNOTATION not in old.annotations:
        return
    policy = shown_name(policy)
    before, now = _by_key(old.template.constraints), object_items(workload.template.constraints)
    if before and not now:
        text = f"no constraint is left of those that policy {policy} added; delete the annotation"
        yield AdmissionWarning(text, topic=INJECTED_ANNOTATION)
        return
    # What is still there as it was injected was merged with nothing.
    for entry in now:
        if entry == before.get(key := text_member(entry, "topologyKey")):
            del before[key]
    written = _written(workload) if before else {}
    for position, entry in enumerate(now):
        key = text_member(entry, "topologyKey")
        injected, own = before.get(key, {}), written.get(key, {})
        shared = (name for name in _OPTIONAL if name in entry and name in injected and name not in own)
        kept = [name for name in shared if entry[name] == injected[name]]
        if kept:
            yield AdmissionWarning(
                f"keeps {' and '.join(kept)} of policy {policy}, with whose constraint yours was merged: "
                "write them, or null",
                topic=INJECTED_ANNOTATION,
                paths=(workload.kind.constraints_path.index(position),),
            )


def _by_key(constraints: object) -> dict[str, dict[str, Any]]:
    """Return the first constraint of each topology key; kubectl merges by that alone."""
    return {text_member(entry, "topologyKey"): entry for entry in reversed(object_items(constraints))}


def _written(workload: Workload) -> dict[str, dict[str, Any]]:
    """Return the constraints that kubectl applied by their keys, none where it is not known."""
    try:
        applied = orjson.loads(workload.annotations.get(LAST_APPLIED, ""))
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(applied, dict):
        return {}
    spec = descend(applied, (*workload.kind.template, "spec"))
    return _by_key(spec.get("topologySpreadConstraints"))
