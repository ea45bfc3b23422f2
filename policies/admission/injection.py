"""Default constraints for a workload that has none: which, with what selector, and as what patch.

The plan depends on the object, the policies and the picture of the cluster alone, so a second pass over the
patched object plans nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.config.context import AdmissionContext
from policies.config.exemptions import opts_out
from policies.config.ownership import owner_has_template
from policies.config.spread_policy import Defaults, DefaultsSource, InjectAt, SpreadPolicy
from policies.config.subject import Subject
from policies.manifests.json_patch import AddOperation, add
from policies.model.constraint import Constraint
from policies.model.labels import LabelSelector
from policies.model.pod import MIRROR_ANNOTATION
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.version import MATCH_LABEL_KEYS_SINCE
from policies.scheduler.defaults import deduce_selector


class Skip(StrEnum):
    """Why an object in scope of a policy with defaults gets none."""

    HAS_CONSTRAINTS = "it has constraints of its own"
    EMPTY_LIST = "its list of constraints is empty, which opts out"
    OPTED_OUT = "an annotation opts out"
    INVALID = "it is invalid"
    MIRROR_POD = "it mirrors a static pod"
    NOT_SPREAD = "pods of this kind are not spread"
    OWNED = "its owner's template decides"
    NO_POD_SPEC = "it holds no pod spec"
    NO_OWN_SELECTOR = "it has no selector of its own that matches its template"
    NO_CLUSTER = "no cluster is connected, so its selector cannot be deduced"
    WITHHELD = "the cluster cache cannot be used, so its selector cannot be deduced"
    NO_DEDUCED_SELECTOR = "no Service matches it and no known controller owns it"
    NO_DEFAULTS = "its scheduler has no default constraints"


@dataclass(frozen=True, slots=True)
class Injection:
    """Constraints that an object gets, from one policy.

    Attributes:
        policy: The policy's name.
        constraints: As the policy, or the scheduler's configuration, has them: without a selector.
        selector: The pods that each of them counts.
        match_label_keys: The keys that each of them narrows the selector by.
    """

    policy: str
    constraints: tuple[Constraint, ...]
    selector: LabelSelector
    match_label_keys: tuple[str, ...]

    def entries(self) -> list[dict[str, Any]]:
        """Return the list of constraints as the API writes it."""
        added: dict[str, Any] = {"labelSelector": self.selector.to_dict()}
        if self.match_label_keys:
            added["matchLabelKeys"] = list(self.match_label_keys)
        return [constraint.to_dict() | added for constraint in self.constraints]

    def patch(self, subject: Subject) -> list[AddOperation]:
        """Return the smallest patch: the list, and the annotation that says where it came from."""
        annotations = ("metadata", "annotations")
        if subject.annotations:
            mark = add((*annotations, INJECTED_ANNOTATION), self.policy)
        else:
            # The parent of a member must exist, and the API server leaves out an empty map.
            mark = add(annotations, {INJECTED_ANNOTATION: self.policy})
        return [add(subject.kind.constraints_path.segments, self.entries()), mark]


def plan_injection(
    subject: Subject, policies: list[SpreadPolicy], context: AdmissionContext
) -> Injection | Skip | None:
    """Decide what an object gets from the first of its policies that has defaults for its level.

    Args:
        subject: The object, before any change.
        policies: The policies whose scope holds it, in order.
        context: The cluster and the scheduler's configuration.

    Returns:
        The injection; why there is none though a policy has defaults; None if no policy has any here.
    """
    policy = next(
        (policy for policy in policies if policy.defaults and applies_to(policy.defaults.at, subject)), None
    )
    if policy is None or policy.defaults is None:
        return None
    skip = reason_of_object(subject) or _reason_of_cluster(subject, context)
    if skip:
        return skip
    selector = _pod_selector(subject, context) if subject.kind.is_pod else _own_selector(subject)
    if isinstance(selector, Skip):
        return selector
    constraints = _constraints(policy.defaults, subject, context)
    if not constraints:
        return Skip.NO_DEFAULTS
    return Injection(policy.name, constraints, selector, _revision_keys(subject, selector, context))


def applies_to(at: InjectAt, subject: Subject) -> bool:
    """Tell whether defaults of a level are for an object."""
    return at is InjectAt.BOTH or (at is InjectAt.PODS) == subject.kind.is_pod


def reason_of_object(subject: Subject) -> Skip | None:
    """Return why an object gets nothing, as far as it tells itself."""
    if subject.shape_errors or not subject.metadata:
        return Skip.INVALID
    if subject.pod.constraints is not None:
        return Skip.HAS_CONSTRAINTS if subject.pod.constraints else Skip.EMPTY_LIST
    if opts_out(subject.annotations) or opts_out(subject.pod.annotations):
        return Skip.OPTED_OUT
    if MIRROR_ANNOTATION in subject.annotations:
        return Skip.MIRROR_POD
    if not subject.kind.spreads:
        return Skip.NOT_SPREAD
    if not subject.pod.exists:
        return Skip.NO_POD_SPEC
    if not subject.kind.is_pod:
        if owner_has_template(subject):
            # Its controller compares templates: a changed ReplicaSet would be replaced for ever.
            return Skip.OWNED
    elif subject.owner is not None and subject.owner.kind in UNSPREAD_OWNERS:
        return Skip.NOT_SPREAD
    return None


def _reason_of_cluster(subject: Subject, context: AdmissionContext) -> Skip | None:
    """Return why an object's namespace or owner keeps defaults away, as far as they are in the cache."""
    if context.snapshot is None:
        return None
    namespace = context.snapshot.namespaces.get(subject.namespace)
    if namespace is not None and opts_out(namespace.annotations):
        return Skip.OPTED_OUT
    # A Deployment's controller copies its annotations to its ReplicaSets, so the owner speaks for it too.
    owner = subject.owner and context.snapshot.controller(subject.owner, subject.namespace)
    return Skip.OPTED_OUT if owner and opts_out(owner.annotations) else None


#: Kinds whose pods are placed by other means, or end by themselves.
UNSPREAD_OWNERS = frozenset({"DaemonSet", "Job"})


def _pod_selector(subject: Subject, context: AdmissionContext) -> LabelSelector | Skip:
    if context.snapshot is None:
        return Skip.WITHHELD if context.withheld else Skip.NO_CLUSTER
    selector = deduce_selector(context.snapshot, subject.identity)
    return selector or Skip.NO_DEDUCED_SELECTOR


def _own_selector(subject: Subject) -> LabelSelector | Skip:
    selector = subject.kind.read_selector(subject.obj)
    if selector is None or selector.empty or not selector.matches(subject.pod.labels):
        return Skip.NO_OWN_SELECTOR
    return selector


def _constraints(defaults: Defaults, subject: Subject, context: AdmissionContext) -> tuple[Constraint, ...]:
    if defaults.source is DefaultsSource.POLICY:
        return defaults.constraints
    return context.scheduler.constraints_for(subject.pod.scheduler_name) if context.scheduler else ()


def _revision_keys(subject: Subject, selector: LabelSelector, context: AdmissionContext) -> tuple[str, ...]:
    """Return the label that keeps revisions apart while a rollout runs, where the cluster knows the field."""
    label = subject.kind.revision_label
    if label is None or context.kubernetes_version < MATCH_LABEL_KEYS_SINCE or label in selector.keys:
        return ()
    return (label,)
