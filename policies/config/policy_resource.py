"""A SpreadPolicy of a cluster: whether it has errors, and which version of it is in force.

A version with errors never takes effect. The last one without stays in force: the one that this process
knows, or, for a process that has started since, the one that the status of the object has kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from policies.config.loader import build
from policies.config.policy_validation import policy_errors, scheduler_errors
from policies.config.spread_policy import API_VERSION, KIND, SpreadPolicy
from policies.manifests.fields import (
    SPEC,
    VALUE_INVALID,
    FieldError,
    member,
    object_items,
    text_member,
    too_long,
)

#: Bytes of the spec of a policy in a cluster, as JSON: what ``policy_validation`` counts, of usual length.
MAX_SPEC_BYTES: Final = 128 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedSpec:
    """A version of a policy without errors.

    Attributes:
        generation: Counted by the API server with each change of the spec.
        spec: The spec as it was written.
        policy: The policy.
    """

    generation: int
    spec: dict[str, Any]
    policy: SpreadPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResource:
    """A SpreadPolicy of a cluster.

    Attributes:
        name: Its name.
        uid: Its uid: one that was deleted and created again is another policy.
        version: Its resourceVersion.
        generation: Counted by the API server with each change of the spec.
        spec: The spec as it is written.
        errors: What is wrong with it; empty if it is in force.
        accepted: The version that is in force; None if there never was one without errors.
        status: As it is written.
    """

    name: str
    uid: str
    version: str
    generation: int
    spec: object
    errors: tuple[FieldError, ...]
    accepted: AcceptedSpec | None
    status: dict[str, Any]

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
