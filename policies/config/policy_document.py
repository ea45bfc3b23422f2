"""A policy as the document that Evenkeel understands: every default written out."""

from __future__ import annotations

from typing import Any

from policies.config.scope import Scope
from policies.config.spread_policy import API_VERSION, KIND, PolicyException, RuleSettings, SpreadPolicy
from policies.manifests.wire import document_name
from policies.model.constraint import Constraint, WhenUnsatisfiable


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
