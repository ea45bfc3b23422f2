"""A SpreadPolicy of a cluster: its errors, which version of it is in force, and the status that says so.

A version with errors never takes effect. The last one without stays in force: the one that this process
knows, or, for a process that has started since, the one that the status of the object has kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

import orjson

from policies.config.loader import build
from policies.config.policy_validation import policy_errors, scheduler_errors
from policies.config.spread_policy import API_VERSION, KIND, NOT_INJECTED, DefaultsMode, SpreadPolicy
from policies.manifests.fields import (
    SPEC,
    VALUE_INVALID,
    FieldError,
    member,
    object_items,
    text_member,
    too_long,
)
from policies.manifests.sanitize import cut
from policies.manifests.wire import Count, Keywords
from policies.manifests.words import IN_SENTENCE, listed

#: Bytes of the spec of a policy in a cluster, as JSON: what ``policy_validation`` counts, of usual length.
MAX_SPEC_BYTES: Final = 128 * 1024
#: Characters of a condition's message. Kubernetes allows 32,768.
_MESSAGE_LENGTH: Final = 4096
_Generation = Annotated[int, Keywords(minimum=0, format="int64")]
_Time = Annotated[str, Keywords(format="date-time")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedSpec:
    """A version of a policy without errors."""

    generation: int  #: Counted by the API server with each change of the spec.
    spec: dict[str, Any]  #: The spec as it was written.
    policy: SpreadPolicy  #: The policy.


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResource:
    """A SpreadPolicy of a cluster."""

    name: str  #: Its name.
    uid: str  #: Its uid: one that was deleted and created again is another policy.
    version: str  #: Its resourceVersion.
    generation: int  #: Counted by the API server with each change of the spec.
    spec: object  #: The spec as it is written.
    errors: tuple[FieldError, ...]  #: What is wrong with it; empty if it is in force.
    #: The version that is in force; None if there never was one without errors.
    accepted: AcceptedSpec | None
    status: dict[str, Any]  #: As it is written.

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """The conditions of the status that are objects."""
        return object_items(self.status.get("conditions"))

    @property
    def fallback(self) -> str:
        """The sentence on which version is in force in place of one with errors."""
        if self.accepted is None:
            return f"generation {self.generation} has errors, and no version is in force"
        accepted = self.accepted.generation
        return f"generation {self.generation} has errors, generation {accepted} stays in force"


def read_policy_resource(
    obj: Mapping[str, Any], before: PolicyResource | None, *, has_scheduler_config: bool
) -> PolicyResource:
    """Return a policy as the API server has it now.

    Args:
        obj: The object, with a name.
        before: What was known of the policy of this name.
        has_scheduler_config: Whether defaults may be taken from the scheduler's configuration.
    """
    metadata, spec = member(obj, "metadata"), obj.get("spec", {})
    name, uid, generation = metadata["name"], text_member(metadata, "uid"), metadata.get("generation")
    if before is not None and before.uid != uid:
        before = None
    unchanged = before is not None and before.spec == spec
    if unchanged and before is not None:
        errors = before.errors
    else:
        errors = resource_errors(obj, has_scheduler_config=has_scheduler_config)
    number = generation if isinstance(generation, int) else 0
    status = member(obj, "status")
    accepted = before.accepted if before else None
    if errors:
        kept = _kept(name, status, has_scheduler_config=has_scheduler_config)
        if kept is not None and (accepted is None or kept.generation > accepted.generation):
            accepted = kept
    elif not unchanged or accepted is None:
        accepted = AcceptedSpec(generation=number, spec=member(obj, "spec"), policy=build(obj))
    return PolicyResource(
        name=name,
        uid=uid,
        version=text_member(metadata, "resourceVersion"),
        generation=number,
        spec=spec,
        errors=errors,
        accepted=accepted,
        status=status,
    )


def resource_errors(obj: Mapping[str, Any], *, has_scheduler_config: bool) -> tuple[FieldError, ...]:
    """Return everything that keeps a policy of a cluster from taking effect."""
    if len(orjson.dumps(obj.get("spec"))) > MAX_SPEC_BYTES:
        return (too_long(SPEC, MAX_SPEC_BYTES, VALUE_INVALID),)
    return (*policy_errors(obj), *(() if has_scheduler_config else scheduler_errors(obj)))


def _kept(name: str, status: Mapping[str, Any], *, has_scheduler_config: bool) -> AcceptedSpec | None:
    """Return the version that the status has kept, if it has one that can be used."""
    kept = member(status, "lastAccepted")
    spec, generation = kept.get("spec"), kept.get("generation")
    if not isinstance(spec, dict) or not isinstance(generation, int):
        return None
    obj = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
    if resource_errors(obj, has_scheduler_config=has_scheduler_config):
        return None
    return AcceptedSpec(generation=generation, spec=spec, policy=build(obj))


class PolicyCondition(TypedDict):
    """A condition, as Kubernetes writes it."""

    #: Accepted: the policy has no errors and is in force as it is written.
    type: Annotated[str, Keywords(maxLength=316)]
    status: Literal["True", "False", "Unknown"]  #: Whether the condition holds.
    observedGeneration: NotRequired[_Generation]  #: The generation of the policy that this is about.
    lastTransitionTime: _Time  #: Since when the status is this one.
    reason: Annotated[str, Keywords(maxLength=1024)]  #: Why, in one word: Accepted or Invalid.
    message: Annotated[str, Keywords(maxLength=32768)]  #: Why, in a sentence.


class PolicyWorkloads(TypedDict):
    """Workloads of the cluster: Deployments, StatefulSets and ReplicationControllers, as they are now."""

    selected: Count  #: How many the policy selects.
    denied: Count  #: How many of those it would deny if they were created now.


class LastAccepted(TypedDict):
    """The last spec without errors. It stays in force while the spec has errors."""

    generation: _Generation  #: The generation of the policy that had it.
    spec: Annotated[dict[str, Any], Keywords(**{"x-kubernetes-preserve-unknown-fields": True})]  #: The spec.


class PolicyStatus(TypedDict):
    """The status of the policy; Evenkeel's leader writes it."""

    observedGeneration: NotRequired[_Generation]  #: The generation of the policy that the status is about.
    #: Whether the policy is accepted, and why not.
    conditions: NotRequired[
        Annotated[
            list[PolicyCondition],
            Keywords(**{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
        ]
    ]
    workloads: NotRequired[PolicyWorkloads]  #: How many workloads the policy selects and denies.
    lastAccepted: NotRequired[LastAccepted]  #: The last spec without errors, which is in force.


def policy_status(
    resource: PolicyResource, workloads: PolicyWorkloads | None, *, now: datetime, mode: DefaultsMode
) -> PolicyStatus:
    """Return the status that a policy of the cluster should have.

    Args:
        resource: The policy.
        workloads: What it selects and denies; None keeps that of the status.
        now: The time of a change of the condition, UTC.
        mode: Which default constraints are injected.
    """
    before = resource.status
    status: PolicyStatus = {
        "observedGeneration": resource.generation,
        "conditions": [_accepted(resource, now, mode)],
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


def _accepted(resource: PolicyResource, now: datetime, mode: DefaultsMode) -> PolicyCondition:
    status: Literal["True", "False"] = "False" if resource.errors else "True"
    before = next((entry for entry in resource.conditions if entry.get("type") == "Accepted"), {})
    since = before.get("lastTransitionTime") if before.get("status") == status else None
    return {
        "type": "Accepted",
        "status": status,
        "observedGeneration": resource.generation,
        "lastTransitionTime": since if isinstance(since, str) else f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "reason": "Invalid" if resource.errors else "Accepted",
        "message": _message(resource, mode),
    }


def _message(resource: PolicyResource, mode: DefaultsMode) -> str:
    if resource.errors:
        return f"{resource.fallback}: {summary_of(resource.errors)}"
    without = resource.accepted and resource.accepted.policy.defaults and mode is DefaultsMode.OFF
    return f"the policy is in force, but {NOT_INJECTED}" if without else "the policy is in force"
