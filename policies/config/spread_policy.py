"""The SpreadPolicy document as values. Its JSON Schema is generated from these types and their docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from policies.config.policy_exception import PolicyException
from policies.config.scope import Scope
from policies.manifests.findings import Severity
from policies.model.constraint import Constraint

#: The version of the document, as ``apiVersion`` spells it.
API_VERSION = "evenkeel.dev/v1alpha1"
#: The kind of the document.
KIND = "SpreadPolicy"


class Enforcement(StrEnum):
    """What becomes of an object that breaks a rule."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


class AnnotationExemptions(StrEnum):
    """Whether the annotation evenkeel.dev/ignore of an object exempts it from a rule that is denied for."""

    ALLOWED = "allowed"
    DENIED = "denied"


class InjectAt(StrEnum):
    """Which objects get the default constraints."""

    PODS = "pods"
    WORKLOADS = "workloads"
    BOTH = "both"


class DefaultsSource(StrEnum):
    """Where the default constraints come from."""

    POLICY = "policy"
    SCHEDULER = "scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Constraints for workloads that have none; a pod that gets one loses the scheduler's own defaults.

    Attributes:
        at: Which objects get them. pods: pods as they are created, which GitOps tools do not see as drift;
            needs a connected cluster. workloads: the templates of Deployments and the like, with their own
            selector. both: each.
        source: Where they come from. policy: the list below. scheduler: the KubeSchedulerConfiguration that
            Evenkeel is started with.
        constraints: The constraints, without labelSelector and matchLabelKeys, which are deduced for each
            workload. Required with source policy, forbidden with source scheduler.
    """

    at: InjectAt = InjectAt.PODS
    source: DefaultsSource = DefaultsSource.POLICY
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """How one rule is used.

    Attributes:
        severity: How bad a finding of the rule is.
        enforcement: What becomes of an object that breaks the rule; without it, what the policy says.
        annotation_exemptions: Whether annotations exempt from the rule where it is denied for; without it,
            what the policy says.
        params: The rule's own settings.
    """

    severity: Severity | None = None
    enforcement: Enforcement | None = None
    annotation_exemptions: AnnotationExemptions | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """What is known of the cluster's topology besides its nodes of the moment.

    Attributes:
        domains: The values of a topology key, by key; also those that have no node at the moment.
    """

    domains: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata={"examples": [{"topology.kubernetes.io/zone": ["a", "b", "c"]}]}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPolicy:
    """What Evenkeel checks and injects, and for which objects.

    Attributes:
        name: The policy's name: a DNS subdomain.
        scope: Which objects the policy is for; without it, all of them.
        enforcement: What becomes of an object that breaks a rule. deny: it is refused. warn: it passes, and
            the person who applies it reads a warning. audit: it passes, and the audit log says so.
        annotation_exemptions: Whether the annotation evenkeel.dev/ignore, which whoever writes an object can
            write, exempts it from a rule that is denied for. From warnings it always does. Of several
            policies that deny, all must allow it.
        exceptions: Objects for which rules are not enforced, whoever writes them: by any policy that holds
            the object.
        defaults: Constraints for workloads that have none; without it, none are injected.
        rules: Settings of single rules, by rule id; of several policies that hold an object, the first that
            has some for a rule.
        topology: What is known of the cluster's topology, for rules that must know where pods could go.
    """

    name: str
    scope: Scope = field(default_factory=Scope)
    enforcement: Enforcement = Enforcement.DENY
    annotation_exemptions: AnnotationExemptions = AnnotationExemptions.DENIED
    exceptions: tuple[PolicyException, ...] = ()
    defaults: Defaults | None = None
    rules: Mapping[str, RuleSettings] = field(
        default_factory=dict,
        metadata={"keys": "rule", "examples": [{"max-skew-not-positive": {"severity": "error"}}]},
    )
    topology: Topology = field(default_factory=Topology)
