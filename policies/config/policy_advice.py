"""Advice on policies and the configuration of the scheduler: what they switch off, need, or do not do yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from policies.config import spread_policy
from policies.config.loader import build, repeated_name_errors
from policies.config.policy_validation import policy_errors
from policies.config.scope import NAMESPACE_NAME_LABEL
from policies.config.spread_policy import Defaults, DefaultsSource, InjectAt, SpreadPolicy
from policies.manifests.documents import ManifestObject
from policies.manifests.fields import SPEC, FieldError, FieldPath
from policies.manifests.findings import Finding, Severity
from policies.model.constraint import Constraint, WhenUnsatisfiable
from policies.model.workload_kinds import WorkloadKinds
from policies.rules.base import all_rules, unknown_rule
from policies.scheduler import configuration
from policies.scheduler.configuration import (
    DEFAULT_CONFIG,
    PLUGIN,
    DefaultingType,
    SchedulerConfig,
)
from policies.scheduler.profile import DEFAULT_SCHEDULER

_DEFAULTS = SPEC.child("defaults")
#: The kinds of documents that are inspected here.
KINDS: Final = (spread_policy.KIND, configuration.KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEnvironment:
    """The environment in which a policy will be applied."""

    scheduler: SchedulerConfig | None = None  #: kube-scheduler's configuration; None if it was not given.
    has_cluster: bool = False  #: Whether a cluster is connected.
    kinds: WorkloadKinds = field(default_factory=WorkloadKinds)  #: The kinds of workload that are looked at.


def is_known(document: ManifestObject) -> bool:
    """Return whether a document is of a kind that is inspected here."""
    value: object = document.value
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind in KINDS


def inspect(
    documents: Iterable[ManifestObject],
    *,
    scheduler: SchedulerConfig | None = None,
    has_cluster: bool = False,
) -> list[Finding]:
    """Return all advice on documents, each of which ``is_known``.

    Args:
        documents: What to inspect.
        scheduler: kube-scheduler's configuration; without it, the one among the documents counts.
        has_cluster: Whether a cluster will be connected.
    """
    policies: list[ManifestObject] = []
    configs: list[ManifestObject] = []
    found: list[Finding] = []
    for document in documents:
        (configs if document.value["kind"] == configuration.KIND else policies).append(document)
    for document in configs:
        errors = configuration.config_errors(document.value)
        found += errors_found(document, errors)
        if not errors:
            config = configuration.build(document.value)
            found += config_advice(document, config)
            scheduler = scheduler or config
    around = PolicyEnvironment(scheduler=scheduler, has_cluster=has_cluster)
    return [*found, *_inspect_policies(policies, around)]


def _inspect_policies(documents: Iterable[ManifestObject], around: PolicyEnvironment) -> Iterator[Finding]:
    first_places: dict[str, str] = {}
    for document in documents:
        errors = policy_errors(document.value)
        if not errors:
            yield from policy_advice(document, build(document.value), around)
            errors = repeated_name_errors(document, first_places)
        yield from errors_found(document, errors)


def errors_found(document: ManifestObject, errors: Iterable[FieldError]) -> Iterator[Finding]:
    """Yield the errors of a document as findings, each with its place."""
    for error in errors:
        location = document.location(error.path)
        yield Finding(Severity.ERROR, location, document.path + error.path, error.problem, error.rule)


def policy_advice(document: ManifestObject, policy: SpreadPolicy, around: PolicyEnvironment) -> list[Finding]:
    """Return the warnings and notes on a policy without errors."""
    found = [*_unknown_rules(policy), *_scope(policy, around)]
    if policy.defaults is not None:
        found += _defaults(policy.defaults, around)
        found += _hard(policy.defaults.constraints, _DEFAULTS.child("constraints"))
    return _located(document, found)


def config_advice(document: ManifestObject, config: SchedulerConfig) -> list[Finding]:
    """Return the warnings and notes on a KubeSchedulerConfiguration without errors."""
    profiles = document.value.get("profiles") or []
    path = FieldPath().child("profiles")
    found: list[_Advice] = []
    if isinstance(profiles, dict):
        text = "kube-scheduler wants a list of profiles; taken as the only one"
        found.append(_Advice(Severity.WARNING, path, text, "scheduler-profiles-mapping"))
        return _located(document, [*found, *_profile(profiles, path, config)])
    for position, profile in enumerate(profiles):
        found += _profile(profile or {}, path.index(position), config)
    return _located(document, found)


@dataclass(frozen=True, slots=True)
class _Advice:
    severity: Severity
    path: FieldPath
    message: str
    rule: str


def _located(document: ManifestObject, found: Iterable[_Advice]) -> list[Finding]:
    return [
        Finding(
            entry.severity,
            document.location(entry.path),
            document.path + entry.path,
            entry.message,
            entry.rule,
        )
        for entry in found
    ]


def _unknown_rules(policy: SpreadPolicy) -> Iterator[_Advice]:
    # Another release may have it, so it is no error.
    named = [(name, SPEC.child("rules").key(name)) for name in policy.rules]
    for number, exception in enumerate(policy.exceptions):
        path = SPEC.child("exceptions").index(number).child("rules")
        named += ((name, path.index(position)) for position, name in enumerate(exception.rules))
    for name, path in named:
        if name not in all_rules():
            yield _Advice(Severity.WARNING, path, unknown_rule(name), "rule-unknown")


def _scope(policy: SpreadPolicy, around: PolicyEnvironment) -> Iterator[_Advice]:
    yield from _unknown_kinds(policy.scope.kinds, around.kinds)
    selector = policy.scope.namespace_selector
    unknown = sorted(selector.keys - {NAMESPACE_NAME_LABEL}) if selector else []
    if unknown and not around.has_cluster:
        text = (
            f"requires {', '.join(unknown)}, but namespace labels are known only when a cluster is "
            f"connected (--cluster); without one only {NAMESPACE_NAME_LABEL} is"
        )
        path = SPEC.child("scope", "namespaceSelector")
        yield _Advice(Severity.WARNING, path, text, "namespace-labels-unknown")


def _unknown_kinds(names: Iterable[str], kinds: WorkloadKinds) -> Iterator[_Advice]:
    known = sorted({kind.kind for kind in kinds.values()})
    for position, name in enumerate(names):
        if name in known:
            continue
        close = get_close_matches(name, known, 1)
        hint = f'did you mean "{close[0]}"?' if close else "configure the server with --workload-kind"
        path = SPEC.child("scope", "kinds").index(position)
        yield _Advice(
            Severity.WARNING, path, f"{name} is not a kind that Evenkeel knows; {hint}", "kind-unknown"
        )


def _defaults(defaults: Defaults, around: PolicyEnvironment) -> Iterator[_Advice]:
    for text in _switched_off(around.scheduler or DEFAULT_CONFIG):
        yield _Advice(Severity.NOTE, _DEFAULTS, text, "scheduler-defaults-off")
    if defaults.at is not InjectAt.WORKLOADS and not around.has_cluster:
        text = (
            "pods are left alone without a cluster (serve --live or --cluster): which pods to count cannot "
            "be deduced without its Services and controllers"
        )
        yield _Advice(Severity.WARNING, _DEFAULTS.child("at"), text, "pods-need-cluster")
    if defaults.source is not DefaultsSource.SCHEDULER:
        return
    path = _DEFAULTS.child("source")
    if around.scheduler is None:
        text = (
            "needs the scheduler's configuration (--scheduler-config); the server does not start without it"
        )
        yield _Advice(Severity.WARNING, path, text, "scheduler-config-missing")
    elif any(_is_system(around.scheduler, name) for name in around.scheduler.profiles):
        text = (
            "written into a pod, the System constraints lose a privilege: a node without a zone label is "
            "then scored lowest, where the scheduler's own defaults would still compare it by host"
        )
        yield _Advice(Severity.NOTE, path, text, "system-defaults-written-out")


def _is_system(config: SchedulerConfig, name: str) -> bool:
    profile = config.profiles[name]
    return profile.defaulting_type is DefaultingType.SYSTEM and bool(profile.constraints)


def _switched_off(config: SchedulerConfig) -> Iterator[str]:
    for name, profile in config.profiles.items():
        of = "" if name == DEFAULT_SCHEDULER else f" of {name}"
        if profile.constraints:
            listed = " and ".join(map(_described, profile.constraints))
            yield f"a pod that gets even one of these loses all of the scheduler's own defaults{of}: {listed}"


def _described(constraint: Constraint) -> str:
    return f"{constraint.topology_key} maxSkew {constraint.max_skew} {constraint.when_unsatisfiable}"


def _hard(constraints: Iterable[Constraint], path: FieldPath) -> Iterator[_Advice]:
    for position, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE:
            text = (
                "DoNotSchedule for every workload that says nothing can leave pods pending: during a "
                "rollout, when a zone fails, or where nodes lack the label; ScheduleAnyway cannot"
            )
            where = path.index(position).child("whenUnsatisfiable")
            yield _Advice(Severity.WARNING, where, text, "hard-default")


def _profile(raw: Mapping[str, Any], path: FieldPath, config: SchedulerConfig) -> Iterator[_Advice]:
    profile = config.profiles[raw.get("schedulerName") or DEFAULT_SCHEDULER]
    if profile.defaulting_type is DefaultingType.LIST:
        for position, entry in enumerate(raw.get("pluginConfig") or ()):
            if entry and entry.get("name") == PLUGIN:
                where = path.child("pluginConfig").index(position).child("args", "defaultConstraints")
                yield from _hard(profile.constraints, where)
    if not profile.constraints:
        text = f"gives pods no default constraints: {PLUGIN} is disabled, or its list is empty"
        yield _Advice(Severity.NOTE, path, text, "no-scheduler-defaults")
    plugins = profile.plugins
    if unmodeled := [*plugins.unmodeled, *filter(None, [plugins.sampling])]:
        text = f"not modeled in score and explain: {', '.join(unmodeled)}"
        yield _Advice(Severity.NOTE, path, text, "scheduler-profile-not-modeled")
