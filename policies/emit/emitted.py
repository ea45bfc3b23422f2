"""The objects of the API server emitted for SpreadPolicy documents, and what those leave out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.model.labels import SUBDOMAIN_LENGTH

#: The group of the API's policies.
GROUP = "admissionregistration.k8s.io"
#: Found by ``kubectl get -l`` with what Evenkeel emitted.
LABELS = {"app.kubernetes.io/part-of": "evenkeel"}


class PolicyKind(StrEnum):
    """The kinds of policies that the API server evaluates, by their short names."""

    VALIDATING = "vap"
    MUTATING = "map"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of a SpreadPolicy that the API server will not do, or not quite."""

    policy: str  #: The name of the SpreadPolicy; of several, with commas.
    subject: str  #: The id of a rule, or the field of the document.
    reason: str  #: Why, as a clause without a full stop.
    partly: bool = False  #: Whether it is emitted but for the part in the reason.


@dataclass(frozen=True, slots=True)
class Emitted:
    """The result of emitting documents."""

    objects: tuple[dict[str, Any], ...]  #: Policies and their bindings, as the API has them.
    left_out: tuple[LeftOut, ...]  #: What they leave out.


def object_name(policy: str, suffix: str) -> str:
    """Return the name of what is emitted for a SpreadPolicy; a digest stands for the end of a long one.

    >>> object_name("production", "deny")
    'evenkeel-production-deny'
    """
    name = f"evenkeel-{policy}-{suffix}"
    if len(name) <= SUBDOMAIN_LENGTH:
        return name
    end = f"-{hashlib.sha256(policy.encode()).hexdigest()[:16]}-{suffix}"
    return name[: SUBDOMAIN_LENGTH - len(end)].rstrip("-.") + end


def with_binding(
    kind: str, version: str, name: str, spec: dict[str, Any], binding: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return a policy and the binding that puts it into force.

    Args:
        kind: The policy's kind; that of its binding is the same with ``Binding``.
        version: The version of the API.
        name: The name of both.
        spec: The spec of the policy.
        binding: The spec of the binding, without the policy's name.
    """
    metadata = {"name": name, "labels": LABELS}
    return [
        {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec},
        {
            "apiVersion": f"{GROUP}/{version}",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "spec": {"policyName": name, **binding},
        },
    ]
