"""Default constraints for a workload that has none: which policy gives them, and with what selector.

The plan depends on the object, the policies and the cache of the cluster alone, so a second pass over the
patched object plans nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Any

from policies.config.context import AdmissionContext
from policies.config.spread_policy import Defaults, DefaultsMode, DefaultsSource, InjectAt, SpreadPolicy
from policies.manifests.documents import is_of_kubernetes
from policies.model.constraint import Constraint
from policies.model.controller_labels import controller_label_keys
from policies.model.labels import LabelSelector
from policies.model.version import MATCH_LABEL_KEYS_SINCE
from policies.model.workload import Workload
from policies.scheduler.defaults import deduce_selector

#: ``"false"`` on a workload, a pod or a namespace keeps default constraints away.
INJECT_ANNOTATION = "evenkeel.dev/inject"
#: The annotation of a static pod's mirror; the kubelet creates it, and nothing may change it.
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
#: The built-in document whose defaults ``soft`` gives where policies give none; it does nothing else then.
SOFT_POLICY = "builtin:soft-spread"
#: Kinds whose pods are placed by other means, or end by themselves.
UNSPREAD_OWNERS = frozenset({"DaemonSet", "Job"})
#: Stands for what a controller generates: no selector that is valid has this value.
_GENERATED = " "


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
    GENERATED_LABEL = "its selector does not match the labels that its controller generates"
    NO_CLUSTER = "no cluster is connected, so its selector cannot be deduced"
    WITHHELD = "the cache of the cluster cannot be used"
    NO_DEDUCED_SELECTOR = "no Service matches it and no known controller owns it"
    NO_DEFAULTS = "its scheduler has no default constraints"


@dataclass(frozen=True, slots=True)
class Injection:
    """Constraints that an object gets, from one policy."""

    policy: str  #: The policy's name.
    #: As the policy, or the scheduler's configuration, has them: without a selector.
    constraints: tuple[Constraint, ...]
    selector: LabelSelector  #: The pods that each of them counts.
    match_label_keys: tuple[str, ...]  #: The keys that each of them narrows the selector by.

    def entries(self) -> list[dict[str, Any]]:
        """Return the list of constraints as the API writes it."""
        added: dict[str, Any] = {"labelSelector": self.selector.to_dict()}
        if self.match_label_keys:
            added["matchLabelKeys"] = list(self.match_label_keys)
        return [constraint.to_dict() | added for constraint in self.constraints]


def plan_injection(
    workload: Workload, policies: list[SpreadPolicy], context: AdmissionContext
) -> Injection | Skip | None:
    """Decide what an object gets from the first of its policies that has defaults for its level.

    Args:
        workload: The object, before any change.
        policies: The policies whose scope holds it, in order.
        context: The cluster and the scheduler's configuration.

    Returns:
        The injection; why there is none though a policy has defaults; None if no policy has any here.
    """
    policy, unknown = giving_policy(workload, policies, context), False
    if policy is None and context.withheld:
        policy, unknown = giving_policy(workload, context.possible_policies(workload), context), True
    if policy is None or policy.defaults is None:
        return None
    skip = reason_of_object(workload) or (Skip.WITHHELD if unknown else _reason_of_cluster(workload, context))
    if skip:
        return skip
    selector = _pod_selector(workload, context) if workload.kind.is_pod else own_selector(workload)
    if isinstance(selector, Skip):
        return selector
    constraints = _constraints(policy.defaults, workload, context)
    if not constraints:
        return Skip.NO_DEFAULTS
    return Injection(policy.name, constraints, selector, revision_keys(workload, selector, context))


def giving_policy(
    workload: Workload, policies: Iterable[SpreadPolicy], context: AdmissionContext
) -> SpreadPolicy | None:
    """Return the first of the policies in whose scope an object is that has defaults for its level.

    The mode of the context decides here alone: soft defaults come last, and with ``off`` there are none.
    """
    if context.defaults is DefaultsMode.OFF:
        return None
    where = workload.namespace, workload.labels, workload.kind.only_itself
    soft = (policy for policy in soft_policies(context.defaults) if policy.scope.may_match(*where))
    for policy in chain(policies, soft):
        if policy.defaults and applies_to(policy.defaults.at, workload):
            return policy
    return None


@cache
def soft_policies(mode: DefaultsMode) -> tuple[SpreadPolicy, ...]:
    """Return the policies whose defaults a mode adds to those in force."""
    if mode is not DefaultsMode.SOFT:
        return ()
    # Only a server that injects it pays for reading it.
    from policies.config.loader import load_policies  # noqa: PLC0415

    return load_policies([SOFT_POLICY], str.encode)


def missed_policy(
    workload: Workload, next_pod: Callable[[], Workload], context: AdmissionContext
) -> str | None:
    """Return the policy whose defaults neither a stored workload nor its pods get, but it would if new."""
    # A ReplicaSet stands for the owner that has the template.
    own = replace(workload, owner=None) if context.made_by_controller(workload) else workload
    plan = plan_injection(own, context.policies_for(workload), context)
    if not isinstance(plan, Injection):
        return None
    pod = next_pod()
    of_pod = plan_injection(pod, context.policies_for(pod), context)
    return None if isinstance(of_pod, Injection) else plan.policy


def applies_to(at: InjectAt, workload: Workload) -> bool:
    """Return whether defaults of a level are for an object."""
    return at is InjectAt.BOTH or (at is InjectAt.PODS) == workload.kind.is_pod


def opts_out(annotations: Mapping[str, str]) -> bool:
    """Return whether annotations keep default constraints away; only ``"false"`` does.

    >>> opts_out({"evenkeel.dev/inject": "false"}), opts_out({"evenkeel.dev/inject": "true"})
    (True, False)
    """
    return annotations.get(INJECT_ANNOTATION) == "false"


def reason_of_object(workload: Workload) -> Skip | None:
    """Return why an object gets nothing, as far as the object itself shows."""
    if workload.shape_errors or not workload.metadata:
        return Skip.INVALID
    if workload.template.constraints is not None:
        return Skip.HAS_CONSTRAINTS if workload.template.constraints else Skip.EMPTY_LIST
    if opts_out(workload.annotations) or opts_out(workload.template.annotations):
        return Skip.OPTED_OUT
    if MIRROR_ANNOTATION in workload.annotations:
        return Skip.MIRROR_POD
    if not workload.kind.spreads:
        return Skip.NOT_SPREAD
    if not workload.template.spec:
        return Skip.NO_POD_SPEC
    if not workload.kind.is_pod:
        if _owner_has_template(workload):
            # Its controller compares templates: a changed ReplicaSet would be replaced for ever.
            return Skip.OWNED
    elif workload.owner is not None and workload.owner.kind in UNSPREAD_OWNERS:
        return Skip.NOT_SPREAD
    return None


def _reason_of_cluster(workload: Workload, context: AdmissionContext) -> Skip | None:
    """Return why an object's namespace or owner keeps defaults away, as far as they are in the cache."""
    namespace = context.namespaces.get(workload.namespace)
    if namespace is not None and opts_out(namespace.annotations):
        return Skip.OPTED_OUT
    if context.snapshot is None:
        return None
    # A Deployment's controller copies its annotations to its ReplicaSets, so the owner speaks for it too.
    owner = workload.owner and context.snapshot.controller(workload.owner, workload.namespace)
    return Skip.OPTED_OUT if owner and opts_out(owner.annotations) else None


def _pod_selector(workload: Workload, context: AdmissionContext) -> LabelSelector | Skip:
    if context.snapshot is None:
        return Skip.WITHHELD if context.withheld else Skip.NO_CLUSTER
    selector = deduce_selector(context.snapshot, workload)
    return selector or Skip.NO_DEDUCED_SELECTOR


def own_selector(workload: Workload) -> LabelSelector | Skip:
    """Return the selector of a workload's own pods, or why there is none to spread them by."""
    selector = workload.selector
    if selector is None or selector.empty or not selector.matches(workload.template.labels):
        return Skip.NO_OWN_SELECTOR
    # Else the injected constraint would count no pods: ``selector-names-revision-label``.
    generated = dict.fromkeys(controller_label_keys(workload.kind), _GENERATED)
    if generated and not selector.matches({**workload.template.labels, **generated}):
        return Skip.GENERATED_LABEL
    return selector


def _constraints(defaults: Defaults, workload: Workload, context: AdmissionContext) -> tuple[Constraint, ...]:
    if defaults.source is DefaultsSource.POLICY:
        return defaults.constraints
    return context.scheduler.constraints_for(workload.template.scheduler_name) if context.scheduler else ()


def revision_keys(workload: Workload, selector: LabelSelector, context: AdmissionContext) -> tuple[str, ...]:
    """Return the label that keeps revisions apart while a rollout runs, where the cluster knows the field."""
    label = workload.kind.revision_label
    if label is None or context.kubernetes_version < MATCH_LABEL_KEYS_SINCE or label in selector.keys:
        return ()
    return (label,)


def _owner_has_template(workload: Workload) -> bool:
    """Return whether the owner of a workload may make it again and again from a template of its own.

    Where that is so, what is injected here would be a difference for ever. Any custom
    resource may have such a template, of Kubernetes' own kinds only Deployments do. The matchConditions of
    the mutating webhook say the same.
    """
    owner = workload.owner
    if owner is None:
        return False
    group = owner.api_version.rpartition("/")[0]
    if not is_of_kubernetes(group):
        return True
    return (owner.kind, workload.kind.kind) == ("Deployment", "ReplicaSet")
