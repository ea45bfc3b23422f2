"""The status of a SpreadPolicy in a cluster: what the leader writes, and every replica may read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from policies.config.policy_resource import PolicyResource
from policies.config.type_schema import Count, Keywords
from policies.manifests.fields import FieldError
from policies.manifests.sanitize import cut
from policies.manifests.words import IN_SENTENCE, listed

#: Characters of a condition's message. Kubernetes allows 32,768.
_MESSAGE_LENGTH: Final = 4096

_Generation = Annotated[int, Keywords(minimum=0, format="int64")]
_Time = Annotated[str, Keywords(format="date-time")]


class PolicyCondition(TypedDict):
    """A condition, as Kubernetes writes it.

    Attributes:
        type: Accepted: the policy has no errors and is in force as it is written.
        status: Whether the condition holds.
        observedGeneration: The generation of the policy that this is about.
        lastTransitionTime: Since when the status is this one.
        reason: Why, in one word: Accepted or Invalid.
        message: Why, in a sentence.
    """

    type: Annotated[str, Keywords(maxLength=316)]
    status: Literal["True", "False", "Unknown"]
    observedGeneration: NotRequired[_Generation]
    lastTransitionTime: _Time
    reason: Annotated[str, Keywords(maxLength=1024)]
    message: Annotated[str, Keywords(maxLength=32768)]


class PolicyWorkloads(TypedDict):
    """Workloads of the cluster: Deployments, StatefulSets and ReplicationControllers, as they are now.

    Attributes:
        selected: How many the policy selects.
        denied: How many of those it would deny if they were created now.
    """

    selected: Count
    denied: Count


class LastAccepted(TypedDict):
    """The last spec without errors. It stays in force while the spec has errors.

    Attributes:
        generation: The generation of the policy that had it.
        spec: The spec.
    """

    generation: _Generation
    spec: Annotated[dict[str, Any], Keywords(**{"x-kubernetes-preserve-unknown-fields": True})]


class PolicyStatus(TypedDict):
    """The status of the policy; Evenkeel's leader writes it.

    Attributes:
        observedGeneration: The generation of the policy that the status is about.
        conditions: Whether the policy is accepted, and why not.
        workloads: How many workloads the policy selects and denies.
        lastAccepted: The last spec without errors, which is in force.
    """

    observedGeneration: NotRequired[_Generation]
    conditions: NotRequired[
        Annotated[
            list[PolicyCondition],
            Keywords(**{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
        ]
    ]
    workloads: NotRequired[PolicyWorkloads]
    lastAccepted: NotRequired[LastAccepted]


def policy_status(
    resource: PolicyResource, workloads: PolicyWorkloads | None, *, now: datetime
) -> PolicyStatus:
    """Return the status that a policy of the cluster should have.

    Args:
        resource: The policy.
        workloads: What it selects and denies; None keeps that of the status.
        now: The time of a change of the condition, UTC.
    """
    before = resource.status
    status: PolicyStatus = {
        "observedGeneration": resource.generation,
        "conditions": [_accepted(resource, now)],
    }
    if workloads is None:
        workloads = before.get("workloads")
    if workloads is not None:
        status["workloads"] = workloads
    if resource.accepted is not None:
        status["lastAccepted"] = {
            "generation": resource.accepted.generation,
            "spec": resource.accepted.spec,
        }
    return status


def summary_of(errors: Iterable[FieldError]) -> str:
    """Return errors as one text, of many the first ones and how many more there are."""
    return cut(listed(errors, IN_SENTENCE, between="; "), _MESSAGE_LENGTH)


def _accepted(resource: PolicyResource, now: datetime) -> PolicyCondition:
    status: Literal["True", "False"] = "False" if resource.errors else "True"
    before = next((entry for entry in resource.conditions if entry.get("type") == "Accepted"), {})
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": "Accepted",
        "status": status,
        "observedGeneration": resource.generation,
        "lastTransitionTime": since if isinstance(since, str) else f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "reason": "Invalid" if resource.errors else "Accepted",
        "message": _message(resource),
    }


def _message(resource: PolicyResource) -> str:
    if not resource.errors:
        return "the policy is in force"
    return f"{resource.fallback}: {summary_of(resource.errors)}"
