"""Whether a SpreadPolicy may be stored: every error at once, and what its author should know.

What a policy, or labels of a namespace, would change for existing workloads is found out elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from policies.admission.decision import (
    ALLOWED,
    IGNORED,
    AdmissionVerdict,
    AdmissionWarning,
    Decision,
    NamespaceChange,
)
from policies.config.context import AdmissionContext
from policies.config.loader import build
from policies.config.policy_advice import PolicyEnvironment, policy_advice
from policies.config.policy_resource import resource_errors
from policies.config.spread_policy import NOT_INJECTED, DefaultsMode
from policies.manifests.documents import Document, ManifestObject
from policies.manifests.fields import SPEC, ErrorList, FieldPath, member, text_member
from policies.manifests.findings import Severity


def decide_policy(
    obj: Mapping[str, Any], old: Mapping[str, Any] | None, context: AdmissionContext
) -> Decision:
    """Decide whether a policy may be stored.

    Args:
        obj: The policy as it would be stored.
        old: What is stored now, for an update. Who changes no spec may always write: a policy with errors
            must not hold up what removes a finalizer.
        context: What decisions depend on besides the policies.
    """
    if old is not None and old.get("spec") == obj.get("spec"):
        return ALLOWED
    errors = resource_errors(obj, has_scheduler_config=context.scheduler is not None)
    if errors:
        return Decision(
            verdict=AdmissionVerdict.DENIED,
            errors=errors,
            rules=tuple(dict.fromkeys(error.rule for error in errors)),
        )
    has_cluster = context.live or context.snapshot is not None
    around = PolicyEnvironment(scheduler=context.scheduler, has_cluster=has_cluster, kinds=context.kinds)
    policy = build(obj)
    manifest = ManifestObject(dict(obj), FieldPath(), Document(obj, "", 0))
    warnings = [
        AdmissionWarning(found.message, paths=(found.path,))
        for found in policy_advice(manifest, policy, around)
        if found.severity is Severity.WARNING
    ]
    if policy.defaults and context.defaults is DefaultsMode.OFF:
        warnings.insert(0, AdmissionWarning(NOT_INJECTED, paths=(SPEC.child("defaults"),)))
    verdict = AdmissionVerdict.WARNED if warnings else AdmissionVerdict.ALLOWED
    return Decision(verdict=verdict, warnings=tuple(warnings), change=policy)


def decide_namespace(
    obj: Mapping[str, Any], old: Mapping[str, Any] | None, context: AdmissionContext
) -> Decision:
    """Decide on a namespace, which is never refused.

    Args:
        obj: The namespace as it would be stored.
        old: What is stored now; None for a new one, in which nothing can be.
        context: What decisions depend on besides the policies.
    """
    if old is None or context.snapshot is None:
        return IGNORED
    found = ErrorList()
    labels, before = (
        found.labels(member(each, "metadata").get("labels"), FieldPath()) for each in (obj, old)
    )
    name = text_member(member(obj, "metadata"), "name")
    stored = context.snapshot.namespaces.get(name)
    selected_by_labels = any(policy.scope.needs_namespace_labels for policy in context.policies)
    if labels == before or stored is None or not selected_by_labels or found.errors:
        return IGNORED
    change = NamespaceChange(name, replace(stored, labels=labels))
    return Decision(verdict=AdmissionVerdict.ALLOWED, change=change)
