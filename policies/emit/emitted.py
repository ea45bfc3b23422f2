"""The objects of the API server emitted for SpreadPolicy documents, and what those leave out.

A policy's scope becomes ``matchConstraints`` and ``matchConditions``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.config.controllers import BUILT_IN_CONTROLLERS
from policies.config.scope import NAMESPACE_NAME_LABEL, Scope
from policies.config.spread_policy import SpreadPolicy
from policies.emit.cel import literal
from policies.model.labels import SUBDOMAIN_LENGTH
from policies.model.workload_kinds import BUILT_IN_GROUPS, KNOWN_KINDS, WorkloadKind

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


def kinds_in_scope(scope: Scope, kinds: Sequence[WorkloadKind] = KNOWN_KINDS) -> list[WorkloadKind]:
    """Return the known kinds that are in scope."""
    return [kind for kind in kinds if not scope.kinds or kind.kind in scope.kinds]


def match_constraints(
    scope: Scope, kinds: Iterable[WorkloadKind], operations: Sequence[str]
) -> dict[str, Any]:
    """Return which requests a policy is evaluated for.

    Args:
        scope: The scope of the SpreadPolicy.
        kinds: The kinds in scope.
        operations: For which operations; of pods, whose constraints never change, only CREATE.
    """
    found: dict[str, Any] = {}
    if namespaces := _namespace_selector(scope):
        found["namespaceSelector"] = namespaces
    if scope.object_selector is not None and not scope.object_selector.empty:
        found["objectSelector"] = scope.object_selector.to_dict()
    resources: dict[tuple[str, bool], list[str]] = {}
    for kind in kinds:
        resources.setdefault((kind.group, kind.is_pod), []).append(f"{kind.kind.lower()}s")
    found["resourceRules"] = [
        {
            "apiGroups": [group],
            "apiVersions": ["v1" if group in BUILT_IN_GROUPS else "*"],
            "operations": ["CREATE"] if is_pod else list(operations),
            "resources": names,
            "scope": "Namespaced",
        }
        for (group, is_pod), names in resources.items()
    ]
    return found


def match_conditions(scope: Scope, trusted: Collection[str]) -> list[dict[str, str]]:
    """Return the conditions that selectors cannot express, and one that skips objects of controllers.

    Who could fix what a controller creates applied something else, which was reviewed.

    Args:
        scope: The scope of the SpreadPolicy.
        trusted: The users that are believed of owners of custom kinds.
    """
    conditions = []
    if any("*" in name for name in scope.namespaces):
        conditions.append(("is-in-a-selected-namespace", names_match("request.namespace", scope.namespaces)))
    if globs := [name for name in scope.exclude_namespaces if "*" in name]:
        conditions.append(("is-in-no-excluded-namespace", f"!{names_match('request.namespace', globs)}"))
    conditions.append(("is-not-made-by-a-controller", _by_person(trusted)))
    return [{"name": name, "expression": expression} for name, expression in conditions]


def names_match(value: str, names: Iterable[str]) -> str:
    """Return the expression that tests whether a text is one of some names; ``*`` is any characters."""
    listed = list(names)
    exact = [name for name in listed if "*" not in name]
    globs = "|".join(".*".join(map(re.escape, name.split("*"))) for name in listed if "*" in name)
    parts = [f"{value} in {literal(exact)}"] if exact else []
    if globs:
        parts.append(f"{value}.matches({literal(f'^({globs})$')})")
    return f"({' || '.join(parts)})"


def left_out_of_scope(policy: SpreadPolicy, kinds: Sequence[WorkloadKind]) -> Iterator[LeftOut]:
    """Yield the parts of a scope that are not matched, or not exactly."""
    scope = policy.scope
    emitted, known = ({kind.kind for kind in found} for found in (kinds, KNOWN_KINDS))
    for name in scope.kinds:
        if name not in emitted:
            why = (
                "a mutating policy injects nothing into it" if name in known else "its resource is not known"
            )
            yield LeftOut(policy.name, "scope.kinds", f"{name} is not emitted: {why}")
    if not scope.kinds:
        reason = "kinds of --workload-kind are not emitted: their resources are not known"
        yield LeftOut(policy.name, "scope.kinds", reason, partly=True)
    if scope.object_selector is not None and not scope.object_selector.empty:
        reason = "an update that takes an object out of the selection is still checked"
        yield LeftOut(policy.name, "scope.objectSelector", reason, partly=True)


def _namespace_selector(scope: Scope) -> dict[str, Any]:
    """Return the selector of namespaces; their names are labels."""
    selector = {} if scope.namespace_selector is None else scope.namespace_selector.to_dict()
    expressions = list(selector.get("matchExpressions", ()))
    excluded = [name for name in scope.exclude_namespaces if "*" not in name]
    selected = [] if any("*" in name for name in scope.namespaces) else list(scope.namespaces)
    for operator, names in (("In", selected), ("NotIn", excluded)):
        if names:
            expressions.append({"key": NAMESPACE_NAME_LABEL, "operator": operator, "values": names})
    return {**selector, "matchExpressions": expressions} if expressions else selector


def _by_person(trusted: Collection[str]) -> str:
    """No owner, or one that the request's user does not prove: ``AdmissionContext.made_by_controller``."""
    user = "request.userInfo.username"
    custom = [
        f"(owner.apiVersion.startsWith({literal(kind.group + '/')}) && owner.kind == {literal(kind.kind)})"
        for kind in KNOWN_KINDS
        if kind.group not in BUILT_IN_GROUPS
    ]
    return (
        "!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(owner, "
        f"has(owner.controller) && owner.controller && ({user} in {literal(BUILT_IN_CONTROLLERS)} "
        f"|| ({user}.startsWith('system:node:') && owner.apiVersion == 'v1' && owner.kind == 'Node') "
        f"|| ({user} in {literal(sorted(trusted))} && ({' || '.join(custom)}))))"
    )
