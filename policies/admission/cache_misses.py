"""What a decision needs of a followed cluster that its cache does not have yet.

A pod's review may outrun the event of the ReplicaSet that makes it, and the first objects of a namespace that
of the namespace. Without its owner a pod's selector is not known, without both nobody knows who opted out.
"""

from __future__ import annotations

from typing import NamedTuple

from policies.admission.injection import applies_to, reason_of_object
from policies.config.context import AdmissionContext
from policies.config.exemptions import opts_out
from policies.config.subject import Subject
from policies.model.pod import Owner
from policies.model.snapshot import SELECTING_OWNERS, Snapshot


class CacheMiss(NamedTuple):
    """What the cache does not have yet.

    Attributes:
        namespace: The object's namespace.
        owner: The controller that should be there; None if it is the namespace that is missing.
    """

    namespace: str
    owner: Owner | None = None

    def __str__(self) -> str:
        """Return what is missing, for the audit log."""
        if self.owner is None:
            return f"Namespace {self.namespace} is not in the cache of the cluster yet"
        return f"{self.owner.kind} {self.namespace}/{self.owner.name} is not in the cache of the cluster yet"

    def found(self, snapshot: Snapshot | None) -> bool:
        """Tell whether it has come, or nobody waits for it any more; needs no lock."""
        if snapshot is None:
            return True
        if self.owner is None:
            return self.namespace in snapshot.namespaces
        return snapshot.controller(self.owner, self.namespace) is not None


def missing_for_injection(subject: Subject, context: AdmissionContext) -> CacheMiss | None:
    """Return what must be known before an object may get defaults; None if all is, or it gets none anyway."""
    snapshot = context.snapshot
    if not context.live or snapshot is None or reason_of_object(subject):
        return None
    kinds = subject.all_kinds
    if not any(
        policy.defaults
        and applies_to(policy.defaults.at, subject)
        and policy.scope.may_match(subject.namespace, subject.labels, kinds)
        for policy in context.policies
    ):
        return None
    namespace = snapshot.namespaces.get(subject.namespace)
    if namespace is None:
        return CacheMiss(subject.namespace)
    owner = subject.owner if subject.kind.is_pod and not opts_out(namespace.annotations) else None
    if owner is None or (owner.api_version, owner.kind) not in SELECTING_OWNERS:
        return None
    miss = CacheMiss(subject.namespace, owner)
    return None if miss.found(snapshot) else miss


def missing_for_rules(subject: Subject, context: AdmissionContext) -> CacheMiss | None:
    """Return what must be known to tell which policies hold an object; None if all is."""
    snapshot = context.snapshot
    if not context.live or snapshot is None or subject.namespace in snapshot.namespaces:
        return None
    kinds = subject.all_kinds
    if any(
        policy.scope.needs_namespace_labels
        and policy.scope.may_match(subject.namespace, subject.labels, kinds)
        for policy in context.policies
    ):
        return CacheMiss(subject.namespace)
    return None
