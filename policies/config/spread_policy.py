"""The SpreadPolicy document as values, and a document with every default written out.

Its JSON Schema is generated from these types and their docs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Final

from policies.config.document_fields import (
    Day,
    KindName,
    Name,
    NamePattern,
    NamespacePattern,
    RuleId,
)
from policies.config.scope import Names, Scope
from policies.manifests.findings import Severity
from policies.manifests.wire import INTERNAL, OPTIONAL, DocumentFields, Keywords, Received, document_name
from policies.model.constraint import Constraint, WhenUnsatisfiable

#: The version of this document and of the others, as ``apiVersion`` spells it.
API_VERSION = "evenkeel.dev/v1alpha1"
#: The kind of the document.
KIND = "SpreadPolicy"
#: The API group of the document, and the name of the resource there.
GROUP = API_VERSION.partition("/")[0]
PLURAL = "spreadpolicies"
#: What a name starts with that means a built-in document.
BUILTIN_PREFIX = "builtin:"
#: The name of the CustomResourceDefinition.
CRD_NAME = f"{PLURAL}.{GROUP}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyException(DocumentFields):
    """Objects for which some rules are not enforced."""

    #: The rules that are not enforced.
    rules: Annotated[tuple[RuleId, ...], Keywords(minItems=1, examples=[["selector-missing"]])]
    #: Namespaces of the objects; empty means all. `*` matches any characters.
    namespaces: Annotated[tuple[NamespacePattern, ...], Keywords(examples=[["legacy", "team-*"]])] = ()
    #: Kinds of the objects; empty means all. What a controller creates also has the kinds of its owners.
    kinds: Annotated[tuple[KindName, ...], Keywords(examples=[["Deployment"]])] = ()
    #: Names of the objects; empty means all. `*` matches any characters. What a controller creates also has
    #: the names of its owners.
    names: Annotated[tuple[NamePattern, ...], Keywords(examples=[["checkout-*"]])] = ()
    #: The reason; the audit log repeats it.
    reason: Annotated[str, Keywords(minLength=1, maxLength=1000, examples=["moved by the end of May"])]
    until: Day | None = None  #: The last day of the exception, such as 2027-01-31; default: no end.
    _namespaces: Annotated[Names, INTERNAL] = field(init=False, repr=False, compare=False)
    _names: Annotated[Names, INTERNAL] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_namespaces", Names.compile(self.namespaces))
        object.__setattr__(self, "_names", Names.compile(self.names))

    def selects(
        self, namespace: str, kinds: frozenset[str], names: Iterable[str], *, today: date | None
    ) -> bool:
        """Return whether its rules are not enforced for an object.

        Args:
            namespace: The object's namespace.
            kinds: The kinds that it belongs to.
            names: The names that it goes by.
            today: The day for the last day of an exception; None lets every exception hold.
        """
        if today is not None and self.until is not None and today > self.until:
            return False
        if (self.namespaces and namespace not in self._namespaces) or (
            self.kinds and kinds.isdisjoint(self.kinds)
        ):
            return False
        return not self.names or any(name in self._names for name in names)


class Enforcement(StrEnum):
    """The action on an object that breaks a rule."""

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


class DefaultsMode(StrEnum):
    """Which default constraints a server injects: none, those of policies, or soft ones for the rest too."""

    OFF = "off"
    SOFT = "soft"
    POLICY = "policy"


#: Why the ``defaults`` of a policy have no effect.
NOT_INJECTED: Final = "the server injects no default constraints, as its --defaults is off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults(DocumentFields):
    """Constraints for workloads that have none; a pod that gets one loses the scheduler's own defaults."""

    #: Which objects get them. pods: pods as they are created, which GitOps tools do not see as drift;
    #: requires a connected cluster. workloads: the templates of Deployments and other workloads, with their
    #: own selector. both: each.
    at: InjectAt = InjectAt.PODS
    #: Where they come from. policy: the list below. scheduler: the server's KubeSchedulerConfiguration.
    source: DefaultsSource = DefaultsSource.POLICY
    #: The constraints, without labelSelector and matchLabelKeys, which are deduced for each workload.
    #: Required with source policy, forbidden with source scheduler.
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings(DocumentFields):
    """How one rule is used."""

    severity: Severity | None = None  #: The severity of the rule's findings.
    #: What happens to an object that breaks the rule; default: the policy's enforcement.
    enforcement: Enforcement | None = None
    #: Whether annotations exempt from the rule if it denies; default: that of the policy.
    annotation_exemptions: AnnotationExemptions | None = None
    params: Mapping[str, Any] = field(default_factory=dict)  #: The rule's own settings.


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology(DocumentFields):
    """The cluster's topology beyond its current nodes."""

    #: The domains of each topology key, including those that currently have no node.
    domains: Annotated[
        Mapping[str, tuple[str, ...]], Keywords(examples=[{"topology.kubernetes.io/zone": ["a", "b", "c"]}])
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPolicy(DocumentFields):
    """The checks and defaults of a policy, and the objects that they are for."""

    name: Annotated[str, INTERNAL] = ""  #: The policy's name: a DNS subdomain.
    scope: Scope = field(default_factory=Scope)  #: Which objects the policy applies to; default: all.
    #: What happens to an object that breaks a rule. deny: it is denied. warn: it is allowed with a warning.
    #: audit: it is allowed and recorded in the audit log.
    enforcement: Enforcement = Enforcement.DENY
    #: Whether the annotation evenkeel.dev/ignore, which every author of an object can set, exempts it from
    #: rules that deny. It always exempts from warnings. Of several policies that deny, all must allow it.
    annotation_exemptions: AnnotationExemptions = AnnotationExemptions.DENIED
    #: Objects for which rules are not enforced, by any policy that applies to them.
    exceptions: tuple[PolicyException, ...] = ()
    defaults: Defaults | None = None  #: Constraints for workloads that have none; default: none are injected.
    #: Settings of single rules, by rule id; of several policies that apply to an object, the first with
    #: settings for a rule counts.
    rules: Annotated[
        Mapping[RuleId, RuleSettings], Keywords(examples=[{"max-skew-not-positive": {"severity": "error"}}])
    ] = field(default_factory=dict)
    #: The cluster's topology, for rules that must know where pods can run.
    topology: Topology = field(default_factory=Topology)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMetadata(Received):
    """The policy's name, and what other tools and the API server write beside it."""

    name: Name  #: The policy's name: a DNS subdomain.
    labels: Annotated[Mapping[str, str] | None, OPTIONAL] = None  #: Not used by Evenkeel.
    annotations: Annotated[Mapping[str, str] | None, OPTIONAL] = None  #: Not used by Evenkeel.
    uid: Annotated[str | None, OPTIONAL] = None  #: Written by the API server.
    generation: Annotated[int | None, OPTIONAL] = None  #: Written by the API server.
    resource_version: Annotated[str | None, OPTIONAL] = None  #: Written by the API server.
    creation_timestamp: str | None = None  #: Written by the API server.
    deletion_timestamp: str | None = None  #: Written by the API server.
    deletion_grace_period_seconds: int | None = None  #: Written by the API server.
    managed_fields: tuple[Any, ...] | None = None  #: Written by the API server.
    self_link: Annotated[str | None, OPTIONAL] = None  #: Written by the API server before Kubernetes 1.20.
    owner_references: tuple[Any, ...] | None = None  #: Not used by Evenkeel.
    finalizers: tuple[str, ...] | None = None  #: Not used by Evenkeel.


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPolicyDocument(DocumentFields):
    """The checks and defaults of a policy, and the objects that they are for."""

    metadata: DocumentMetadata  #: The policy's name, and what other tools and the API server write beside it.
    #: The checks and defaults of a policy, and the objects that they are for.
    spec: SpreadPolicy = field(default_factory=SpreadPolicy)
    #: Written by Evenkeel in a cluster; ignored in files.
    status: Mapping[str, Any] = field(default_factory=dict)


def policy_document(policy: SpreadPolicy) -> dict[str, Any]:
    """Return a document that loads as the same policy."""
    spec: dict[str, Any] = {
        "scope": _scope(policy.scope),
        "enforcement": str(policy.enforcement),
        "annotationExemptions": str(policy.annotation_exemptions),
    }
    if policy.exceptions:
        spec["exceptions"] = [_exception(exception) for exception in policy.exceptions]
    if policy.defaults is not None:
        spec["defaults"] = {"at": str(policy.defaults.at), "source": str(policy.defaults.source)}
        if policy.defaults.constraints:
            spec["defaults"]["constraints"] = [_constraint(entry) for entry in policy.defaults.constraints]
    if policy.rules:
        spec["rules"] = {rule: _settings(settings) for rule, settings in policy.rules.items()}
    if policy.topology.domains:
        spec["topology"] = {"domains": {key: list(names) for key, names in policy.topology.domains.items()}}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": policy.name}, "spec": spec}


def _scope(scope: Scope) -> dict[str, Any]:
    """Return a scope; a selector is left out where there is none, for an empty one looks like a choice."""
    written: dict[str, Any] = {
        document_name(name): list(getattr(scope, name))
        for name in ("exclude_namespaces", "namespaces", "kinds")
    }
    for name in ("namespace_selector", "object_selector"):
        if (selector := getattr(scope, name)) is not None:
            written[document_name(name)] = selector.to_dict()
    return written


def _exception(exception: PolicyException) -> dict[str, Any]:
    written: dict[str, Any] = {"rules": list(exception.rules), "reason": exception.reason}
    for name in ("namespaces", "kinds", "names"):
        if listed := getattr(exception, name):
            written[name] = list(listed)
    if exception.until is not None:
        written["until"] = exception.until.isoformat()
    return written


def _constraint(constraint: Constraint) -> dict[str, Any]:
    written = constraint.to_dict() | {
        "nodeAffinityPolicy": str(constraint.node_affinity_policy),
        "nodeTaintsPolicy": str(constraint.node_taints_policy),
    }
    if constraint.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE:
        written["minDomains"] = constraint.min_domains
    return written


def _settings(settings: RuleSettings) -> dict[str, Any]:
    written: dict[str, Any] = {"params": dict(settings.params)}
    if settings.severity is not None:
        written["severity"] = str(settings.severity)
    if settings.enforcement is not None:
        written["enforcement"] = str(settings.enforcement)
    if settings.annotation_exemptions is not None:
        written["annotationExemptions"] = str(settings.annotation_exemptions)
    return written
