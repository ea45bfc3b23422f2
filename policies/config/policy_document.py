"""A policy as a document: the fields that it may have, and one with every default written out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from policies.config.document_fields import Name
from policies.config.scope import Scope
from policies.config.spread_policy import API_VERSION, KIND, PolicyException, RuleSettings, SpreadPolicy
from policies.manifests.wire import OPTIONAL, DocumentFields, Received, document_name
from policies.model.constraint import Constraint, WhenUnsatisfiable


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
