"""Emit SpreadPolicy documents as policies of one kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import Any, Final

from policies.config.controllers import TRUSTED_CONTROLLERS
from policies.config.spread_policy import SpreadPolicy
from policies.emit.emitted import Emitted, LeftOut, PolicyKind
from policies.emit.mutating import api_version, mutating_policies
from policies.emit.validating import validating_policies
from policies.model.version import KNOWN_VERSION, KubernetesVersion

#: The release from which the API server evaluates policies of a version without being configured to.
_ON_BY_DEFAULT = "v1"
#: What is otherwise where several policies select an object.
_ALONE: Final = {
    PolicyKind.VALIDATING: (
        "each is evaluated alone: what the first says of a rule does not take precedence, and an exception "
        "of one does not exempt from the others"
    ),
    PolicyKind.MUTATING: (
        "the API server evaluates them in no certain order: if several select a workload, it gets the "
        "constraints of any of them, not those of the first"
    ),
}


def emit(
    policies: Sequence[SpreadPolicy],
    kind: PolicyKind,
    *,
    today: date,
    version: KubernetesVersion = KNOWN_VERSION,
    trusted: Collection[str] = TRUSTED_CONTROLLERS,
) -> Emitted:
    """Return SpreadPolicies as objects of the API server.

    Args:
        policies: The policies, in order.
        kind: As which policies.
        today: The day, for the last day of exceptions.
        version: The release of the API server.
        trusted: The users that are believed of owners of custom kinds.

    Raises:
        UsageError: The release has no such policies.
    """
    objects: list[dict[str, Any]] = []
    left_out: list[LeftOut] = []
    for policy in policies:
        if kind is PolicyKind.VALIDATING:
            emitted, missing = validating_policies(policy, version, today, trusted)
        else:
            emitted, missing = mutating_policies(policy, version, trusted)
        objects += emitted
        left_out += missing
    return Emitted(tuple(objects), (*left_out, *_together(policies, kind, version)))


def _together(
    policies: Sequence[SpreadPolicy], kind: PolicyKind, version: KubernetesVersion
) -> Iterator[LeftOut]:
    """Yield the differences where several policies select an object, and the needs of the release."""
    if len(policies) > 1:
        named = ", ".join(policy.name for policy in policies)
        yield LeftOut(named, "order", _ALONE[kind], partly=True)
    if kind is PolicyKind.MUTATING and (served := api_version(version)) != _ON_BY_DEFAULT:
        reason = (
            f"Kubernetes {version} serves {served} only with the feature gate MutatingAdmissionPolicy and "
            f"--runtime-config=admissionregistration.k8s.io/{served}=true"
        )
        yield LeftOut(", ".join(policy.name for policy in policies), "release", reason, partly=True)
