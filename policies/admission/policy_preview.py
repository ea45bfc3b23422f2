"""The changes that other policies, or another namespace, would make for the workloads of a cluster.

Each workload is evaluated twice, as if it were created now: by what is in force and by what would be. Updates
of stored workloads are checked more leniently, so nothing that runs stops; what changes is what happens when
the workload is applied as new, or its pods are created again. ``preview_warnings`` says so to the author.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, NamedTuple, TypeAlias

from policies.admission.decision import AdmissionWarning
from policies.admission.effect_change import EffectChange
from policies.admission.injection import injection_patch
from policies.admission.policy_effect import as_applied, revision_of
from policies.admission.policy_tests import patched
from policies.admission.review_cost import ReviewLimits, unlimited
from policies.admission.validation import decide_validation
from policies.config.context import AdmissionContext, listed_domains
from policies.config.default_constraints import Injection, missed_policy, plan_injection, soft_policies
from policies.config.enforcement import known_rules
from policies.config.spread_policy import InjectAt, SpreadPolicy
from policies.manifests.fields import member, text_member
from policies.manifests.words import IN_PHRASE, listed, plural
from policies.model.cluster_workloads import ClusterWorkloads
from policies.model.next_pod import next_pod
from policies.model.pod_template import INJECTED_ANNOTATION
from policies.model.revisions import find_revision
from policies.model.workload import DEFAULT_NAMESPACE, Workload
from policies.model.workload_kinds import WorkloadKind


class AdmissionEffect(NamedTuple):
    """The effect of admission on a workload that is created."""

    denied: frozenset[str] = frozenset()  #: The rules for which it is denied.
    warned: frozenset[str] = frozenset()  #: The rules of which its author is warned.
    injection: Injection | None = None  #: The default constraints that it or its pods get; None for none.


class WorkloadChange(NamedTuple):
    """One thing that changes for a workload."""

    change: EffectChange  #: What.
    details: tuple[str, ...]  #: The rules, or the policy that injects, sorted.


class PreviewedWorkload(NamedTuple):
    """A workload for which something changes."""

    kind: str  #: Its kind.
    namespace: str  #: Its namespace.
    name: str  #: Its name.
    changes: tuple[WorkloadChange, ...]  #: What changes, the gravest first.


#: The kind, namespace and name of a workload.
WorkloadName: TypeAlias = tuple[str, str, str]


class ComparedWorkload(NamedTuple):
    """A workload that was looked at."""

    revision: int  #: Of a Deployment, the number of the revision that stood for it.
    changes: tuple[WorkloadChange, ...] = ()  #: What changes.


@dataclass(slots=True)
class PolicyPreview:
    """The expected changes, counted over the workloads that were looked at."""

    looked_at: int = 0  #: How many workloads were looked at.
    total: int = 0  #: How many there are; more than were looked at if time ran out.
    selected: int = 0  #: Of how many of them other policies would decide than now.
    compared: dict[WorkloadName, ComparedWorkload] = field(default_factory=dict)  #: What was found of each.

    @property
    def workloads(self) -> list[PreviewedWorkload]:
        """Those for which something changes, in the order in which they were looked at."""
        return [
            PreviewedWorkload(*name, changes=entry.changes)
            for name, entry in self.compared.items()
            if entry.changes
        ]

    @property
    def counts(self) -> Counter[EffectChange]:
        """How many workloads have a change."""
        return Counter(change.change for entry in self.compared.values() for change in entry.changes)

    def is_old(self, candidate: Candidate) -> bool:
        """Return whether a newer revision of a workload was looked at; while it rolls out, there are two."""
        before = self.compared.get(candidate.name)
        if before is not None:
            self.looked_at -= 1
            self.total -= 1
        return before is not None and before.revision > candidate.revision

    def add(
        self, candidate: Candidate, before: AdmissionEffect, after: AdmissionEffect, missed: str | None
    ) -> None:
        """Compare what happens to a workload now and then; ``missed`` is a policy that gave it nothing."""
        changes = _changes(before, after)
        if missed and before.injection == after.injection:
            changes += (WorkloadChange(EffectChange.NOT_INJECTED, (missed,)),)
        self.compared[candidate.name] = ComparedWorkload(candidate.revision, changes)


@dataclass(slots=True)
class Candidate:
    """A workload as its author would create it."""

    obj: Mapping[str, Any]  #: The object.
    workload: Workload  #: The same, read.
    revision: int  #: Of a Deployment, the number of the revision that stands for it.
    injected: bool  #: Whether it got default constraints when it was created.
    _pod: Workload | None = None

    @property
    def name(self) -> WorkloadName:
        """Which workload it is."""
        workload = self.workload
        return workload.kind.kind, workload.namespace, workload.name

    def missed(self, context: AdmissionContext) -> str | None:
        """Return the policy whose defaults it would get if it were created now; None if it has its own."""
        return None if self.injected else missed_policy(self.workload, lambda: self.pod(context), context)

    def pod(self, context: AdmissionContext) -> Workload:
        """Return the next pod of the workload; made once, for it does not depend on policies."""
        if self._pod is None:
            workload, revision = self.workload, None
            if context.snapshot is not None:
                revisions = context.snapshot.revisions(workload.kind.name, workload.namespace, workload.name)
                revision = find_revision(workload, revisions)
            self._pod = next_pod(workload, revision)
        return self._pod


def preview_workloads(
    workloads: ClusterWorkloads,
    before: AdmissionContext,
    after: AdmissionContext,
    *,
    today: date,
    in_time: Callable[[], bool] = lambda: True,
) -> PolicyPreview:
    """Find out what changes for workloads when policies or a namespace do.

    Args:
        workloads: The workloads.
        before: What is in force.
        after: What would be.
        today: The day for the expiry of exemptions.
        in_time: Whether another workload may be looked at.
    """
    preview = PolicyPreview(total=len(workloads))
    now, then = _Admission.of(before), _Admission.of(after)
    # Rules know the domains that any policy lists, and injection the annotations of the namespace.
    same_cluster = before.snapshot is after.snapshot and (
        listed_domains(before.policies) == listed_domains(after.policies)
    )
    for entry in workloads.each():
        if not in_time():
            break
        candidate = None if entry is None else _as_created(entry.workload.obj, before)
        if candidate is None:
            preview.total -= 1
            continue
        preview.looked_at += 1
        if preview.is_old(candidate):
            continue
        effects = AdmissionEffect(), AdmissionEffect()
        # For one workload at a time, as a review of it would.
        with before.reading():
            if not same_cluster or now.selecting(candidate) != then.selecting(candidate):
                preview.selected += 1
                effects = now.effect(candidate, today), then.effect(candidate, today)
            preview.add(candidate, *effects, missed=candidate.missed(before))
    return preview


@dataclass(frozen=True, slots=True)
class _Admission:
    """The admission that decides on a workload."""

    context: AdmissionContext  #: The policies and the cluster.
    into_pods: bool  #: Whether some policy injects into pods.

    @classmethod
    def of(cls, context: AdmissionContext) -> _Admission:
        """Look through the policies once."""
        policies = (*context.policies, *soft_policies(context.defaults))
        levels = (policy.defaults.at for policy in policies if policy.defaults is not None)
        return cls(context, any(at is not InjectAt.WORKLOADS for at in levels))

    def selecting(self, candidate: Candidate) -> tuple[list[SpreadPolicy], list[SpreadPolicy]]:
        """Return the policies that select a workload, and those that may inject into its pods."""
        of_pods = self.context.policies_for(candidate.pod(self.context)) if self.into_pods else []
        return self.context.policies_for(candidate.workload), of_pods

    def effect(self, candidate: Candidate, today: date) -> AdmissionEffect:
        """Return the effect of admission on a workload that is created now."""
        context, workload = self.context, candidate.workload
        plan = plan_injection(workload, context.policies_for(workload), context)
        if isinstance(plan, Injection):
            where, annotated = workload.kind.constraints_path, bool(workload.annotations)
            obj = patched(candidate.obj, injection_patch(plan, where, annotated=annotated))
            workload = _read(obj, workload.kind, workload.namespace, context)
        elif self.into_pods:
            pod = candidate.pod(context)
            plan = plan_injection(pod, context.policies_for(pod), context)
        decision = decide_validation(workload, None, context, ReviewLimits(rules=unlimited, today=today))
        denied = frozenset(error.rule for error in decision.errors)
        warned = frozenset(warning.topic for warning in decision.warnings) & known_rules()
        return AdmissionEffect(denied, warned - denied, plan if isinstance(plan, Injection) else None)


def _as_created(obj: Mapping[str, Any], context: AdmissionContext) -> Candidate | None:
    """Return a stored object as its author would create it; None for what is no workload of its own."""
    applied = as_applied(obj)
    kind = None if applied is None else context.kind_of(applied)
    if applied is None or kind is None or kind.is_pod:
        return None
    created = _without_injected(applied, kind)
    namespace = text_member(member(created, "metadata"), "namespace") or DEFAULT_NAMESPACE
    read = _read(created, kind, namespace, context)
    revision = revision_of(member(obj, "metadata"))
    return Candidate(created, read, revision, injected=created is not applied)


def _without_injected(obj: dict[str, Any], kind: WorkloadKind) -> dict[str, Any]:
    """Return a workload without the constraints that were injected into it when it was created."""
    metadata = member(obj, "metadata")
    annotations = member(metadata, "annotations")
    if INJECTED_ANNOTATION not in annotations:
        return obj
    kept = {key: value for key, value in annotations.items() if key != INJECTED_ANNOTATION}
    found = obj | {"metadata": metadata | {"annotations": kept}}
    parent = found
    for name in (*kind.template, "spec"):
        parent[name] = dict(member(parent, name))
        parent = parent[name]
    parent.pop("topologySpreadConstraints", None)
    return found


def _changes(before: AdmissionEffect, after: AdmissionEffect) -> tuple[WorkloadChange, ...]:
    found = {
        EffectChange.DENIED: after.denied - before.denied,
        EffectChange.WARNED: after.warned - before.warned,
        EffectChange.NO_LONGER_DENIED: before.denied - after.denied,
        EffectChange.NO_LONGER_WARNED: before.warned - after.warned - after.denied,
    }
    changes = [WorkloadChange(change, tuple(sorted(rules))) for change, rules in found.items() if rules]
    injected = _injection_change(before.injection, after.injection)
    if injected is not None:
        changes.append(injected)
    return tuple(sorted(changes, key=lambda entry: list(EffectChange).index(entry.change)))


def _injection_change(before: Injection | None, after: Injection | None) -> WorkloadChange | None:
    if after is None:
        return None if before is None else WorkloadChange(EffectChange.NO_LONGER_INJECTED, (before.policy,))
    if before is None:
        return WorkloadChange(EffectChange.INJECTED, (after.policy,))
    if before.entries() != after.entries():
        return WorkloadChange(EffectChange.INJECTED_DIFFERENTLY, (after.policy,))
    return None


def _read(obj: Mapping[str, Any], kind: WorkloadKind, namespace: str, context: AdmissionContext) -> Workload:
    return Workload.read(obj, kind, namespace, release=context.release, stored=False)


#: What is warned of, the gravest first, each with the changes that it sums up.
_LINES: Final = (
    ("would be denied", frozenset({EffectChange.DENIED})),
    ("would be warned about", frozenset({EffectChange.WARNED})),
    (
        "would get other default constraints",
        frozenset(
            {EffectChange.INJECTED, EffectChange.INJECTED_DIFFERENTLY, EffectChange.NO_LONGER_INJECTED}
        ),
    ),
)
#: A server does not watch them.
_NOT_AMONG: Final = "none of them DaemonSets or Jobs"
_SEE_ALL: Final = "kubectl evenkeel policy preview lists all"


def preview_warnings(preview: PolicyPreview) -> list[str]:
    """Return at most three lines of what would happen to existing workloads, and how many were looked at.

    Nothing where nothing would happen and all were looked at.
    """
    lines = [text for headline, changes in _LINES if (text := _line(preview, headline, changes))]
    if not lines and preview.looked_at == preview.total:
        return []
    count = f"looked at {preview.looked_at} of {preview.total} existing workloads, {_NOT_AMONG}"
    if preview.looked_at < preview.total:
        count += ": there was no time for more"
    return [str(AdmissionWarning(text)) for text in (*lines, f"{count}; {_SEE_ALL}")]


def _line(preview: PolicyPreview, headline: str, changes: Collection[EffectChange]) -> str:
    """Return how many workloads have one of some changes, and which are the first; empty if none has."""
    found = list(_affected(preview, changes))
    if not found:
        return ""
    # The API server has room for 256 characters.
    return f"{plural(len(found), 'existing workload')} {headline}: {listed(found, IN_PHRASE)}"


def _affected(preview: PolicyPreview, changes: Collection[EffectChange]) -> Iterator[str]:
    for workload in preview.workloads:
        details = [entry.details for entry in workload.changes if entry.change in changes]
        if details:
            yield f"{workload.kind} {workload.namespace}/{workload.name} ({', '.join(details[0])})"
