"""The effect of policies on the workloads of a cluster: how many each selects, and how many it would deny.

A server may list ReplicaSets but not Deployments, so a Deployment is what its current ReplicaSet says of it:
the template is the same, and so are the annotations. Its own labels are taken to be those of its template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from policies.admission.review_cost import ReviewLimits
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext
from policies.config.spread_policy import Enforcement, SpreadPolicy
from policies.manifests.fields import member, text_member
from policies.model.snapshot import kind_of
from policies.model.workload import DEFAULT_NAMESPACE, Workload, controller_reference

#: By what a Deployment tells its ReplicaSets apart, and how it numbers them.
_HASH: Final = "pod-template-hash"
_REVISION: Final = "deployment.kubernetes.io/revision"
_DEPLOYMENT: Final = ("apps/v1", "Deployment")


class PolicyEffect(NamedTuple):
    """The effect of a policy on workloads."""

    selected: int  #: How many it selects.
    denied: int  #: How many of those it would deny if they were created now.


class _Evaluated(NamedTuple):
    """One workload."""

    revision: int  #: Of a Deployment, the number of the ReplicaSet that stood for it.
    selected: tuple[int, ...]  #: The places of the policies that select it.
    denied: tuple[int, ...]  #: The places of those that would deny it.


class PolicyEffects:
    """Counts what the policies of one set do, one object of the cluster after the other."""

    def __init__(self, policies: tuple[SpreadPolicy, ...], *, today: date) -> None:
        """Start with no workload.

        Args:
            policies: The policies in force.
            today: The day for the expiry of exemptions.
        """
        self._policies = policies
        self._numbers = {id(policy): number for number, policy in enumerate(policies)}
        self._context: tuple[AdmissionContext, AdmissionContext] | None = None
        self._today = today
        self._judged: dict[tuple[str, str, str], _Evaluated] = {}

    def add(self, obj: Mapping[str, Any], context: AdmissionContext) -> None:
        """Evaluate an object; what is no workload of its own is passed over.

        Args:
            obj: The object as the API server has it.
            context: What objects are decided by; its policies do not matter.
        """
        applied = as_applied(obj)
        kind = None if applied is None else context.kind_of(applied)
        if applied is None or kind is None or kind.is_pod:
            return
        metadata = member(applied, "metadata")
        namespace = text_member(metadata, "namespace") or DEFAULT_NAMESPACE
        key = (kind.name, namespace, text_member(metadata, "name"))
        revision = revision_of(member(obj, "metadata"))
        before = self._judged.get(key)
        # While a Deployment is rolled out, it has two ReplicaSets.
        if before is not None and before.revision > revision:
            return
        workload = Workload.read(applied, kind, namespace, release=context.release)
        # What rules derive of the nodes is kept with a context.
        if self._context is None or self._context[0] is not context:
            self._context = context, context.with_policies(self._policies)
        with context.reading():
            self._judged[key] = self._evaluate(revision, workload, self._context[1])

    def effects(self) -> list[PolicyEffect]:
        """Return the effect of each policy, in order."""
        selected, denied = Counter[int](), Counter[int]()
        for entry in self._judged.values():
            selected.update(entry.selected)
            denied.update(entry.denied)
        return [PolicyEffect(selected[number], denied[number]) for number in range(len(self._policies))]

    def _evaluate(self, revision: int, workload: Workload, context: AdmissionContext) -> _Evaluated:
        selecting = context.policies_for(workload)
        denying = [policy for policy in selecting if _may_deny(policy)]
        if denying and not self._denies(workload, context):
            denying = []
        if len(selecting) > 1:
            denying = [
                policy for policy in denying if self._denies(workload, context.with_policies((policy,)))
            ]
        return _Evaluated(revision, self._places(selecting), self._places(denying))

    def _denies(self, workload: Workload, context: AdmissionContext) -> bool:
        decision = decide_validation(workload, None, context, ReviewLimits(today=self._today))
        return bool(decision.errors)

    def _places(self, policies: Sequence[SpreadPolicy]) -> tuple[int, ...]:
        return tuple(self._numbers[id(policy)] for policy in policies)


def _may_deny(policy: SpreadPolicy) -> bool:
    settings = policy.rules.values()
    return policy.enforcement is Enforcement.DENY or any(
        entry.enforcement is Enforcement.DENY for entry in settings
    )


def as_applied(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the workload that an object stands for, about as it was applied; None for an old revision."""
    metadata, spec = member(obj, "metadata"), member(obj, "spec")
    owner = controller_reference(metadata)
    if owner is None:
        return dict(obj)
    if not spec.get("replicas"):
        return None
    if (owner["apiVersion"], owner["kind"]) != _DEPLOYMENT or kind_of(obj)[1] != "ReplicaSet":
        return dict(obj)
    template, selector = member(spec, "template"), member(spec, "selector")
    of_pods = member(template, "metadata")
    labels = _without_hash(member(of_pods, "labels"))
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "metadata": {
            "name": owner["name"],
            "namespace": metadata.get("namespace"),
            "labels": labels,
            "annotations": member(metadata, "annotations"),
        },
        "spec": {
            "replicas": spec["replicas"],
            "selector": selector | {"matchLabels": _without_hash(member(selector, "matchLabels"))},
            "template": template | {"metadata": of_pods | {"labels": labels}},
        },
    }


def _without_hash(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in labels.items() if key != _HASH}


def revision_of(metadata: Mapping[str, Any]) -> int:
    """Return the number of the revision of a Deployment that a ReplicaSet holds; 0 if it has none."""
    text = text_member(member(metadata, "annotations"), _REVISION)
    return int(text[:18]) if text.isascii() and text.isdecimal() else 0
