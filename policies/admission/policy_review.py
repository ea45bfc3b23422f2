"""Whether a SpreadPolicy may be stored: every error at once, and what its author should know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.admission.decision import ALLOWED, AdmissionVerdict, Decision
from policies.admission.warnings import AdmissionWarning
from policies.config.context import AdmissionContext
from policies.config.loader import build
from policies.config.policy_advice import PolicyEnvironment, policy_advice
from policies.config.policy_resource import resource_errors
from policies.manifests.documents import Document, ManifestObject
from policies.manifests.fields import FieldPath
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
    around = PolicyEnvironment(scheduler=context.scheduler, has_cluster=has_cluster)
    manifest = ManifestObject(dict(obj), FieldPath(), Document(obj, "", 0))
    warnings = tuple(
        AdmissionWarning(found.message, paths=(found.path,))
        for found in policy_advice(manifest, build(obj), around)
        if found.severity is Severity.WARNING
    )
    return Decision(verdict=AdmissionVerdict.WARNED, warnings=warnings) if warnings else ALLOWED
