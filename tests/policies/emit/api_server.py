"""The part of an API server that evaluates emitted policies, by cel-python.

What cel-python lacks of Kubernetes' libraries is ``join``, which is added here, and objects such as
``JSONPatch{…}``: of a mutating policy its variables are evaluated, and the patch is made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import celpy
from celpy import celtypes
from celpy.adapter import json_to_cel

from policies.config.scope import NAMESPACE_NAME_LABEL
from policies.model.labels import LabelSelector

_ENVIRONMENT = celpy.Environment()


def _join(texts: Any, separator: str) -> celtypes.StringType:
    return celtypes.StringType(separator.join(texts))


class EmittedPolicy:
    """An emitted policy whose expressions are compiled once."""

    def __init__(self, policy: Mapping[str, Any]) -> None:
        spec = policy["spec"]
        self.name = policy["metadata"]["name"]
        self.constraints = spec["matchConstraints"]
        self.conditions = [_program(entry["expression"]) for entry in spec["matchConditions"]]
        self.variables = {entry["name"]: _program(entry["expression"]) for entry in spec["variables"]}
        self.validations = [
            (_program(entry["expression"]), _program(entry["messageExpression"]))
            for entry in spec.get("validations", ())
        ]

    def matches(self, request: Mapping[str, Any]) -> bool:
        """Tell whether the policy is evaluated for a request."""
        if not any(_is_of(rule, request) for rule in self.constraints["resourceRules"]):
            return False
        labels = request["object"].get("metadata", {}).get("labels") or {}
        for name, given in (
            ("namespaceSelector", {NAMESPACE_NAME_LABEL: request["namespace"]}),
            ("objectSelector", labels),
        ):
            if not LabelSelector.parse(self.constraints.get(name, {})).matches(given):
                return False
        given = _activation(request, {})
        return all(condition.evaluate(given) for condition in self.conditions)

    def violations(self, request: Mapping[str, Any]) -> list[str]:
        """Return the messages of the validations that an object does not pass."""
        given = self._given(request)
        return [
            str(message.evaluate(given)) for passes, message in self.validations if not passes.evaluate(given)
        ]

    def value(self, request: Mapping[str, Any], name: str) -> Any:
        """Return the value of a variable."""
        return self._given(request, until=name)["variables"][name]

    def _given(self, request: Mapping[str, Any], *, until: str = "") -> dict[str, Any]:
        values = celtypes.MapType({})
        given = _activation(request, values)
        before: tuple[Any, ...] = ()
        for name, program in self.variables.items():
            before += (name, id(program))
            values[celtypes.StringType(name)] = _SEEN.value(request, before, program, given)
            if name == until:
                break
        return given


class _Seen:
    """The values of the variables of the last request: policies that differ in their effect share most."""

    def __init__(self) -> None:
        self.request: object = None
        self.values: dict[tuple[Any, ...], Any] = {}

    def value(
        self, request: object, definitions: tuple[Any, ...], program: Any, given: dict[str, Any]
    ) -> Any:
        """Return the value of the last of some definitions, each a name and what ``_program`` keeps."""
        if request is not self.request:
            self.request, self.values = request, {}
        if definitions not in self.values:
            self.values[definitions] = program.evaluate(given)
        return self.values[definitions]


_SEEN = _Seen()


@cache
def _program(expression: str) -> Any:
    """Return the program of an expression; most are the same in every policy, and take long to compile."""
    return _ENVIRONMENT.program(_ENVIRONMENT.compile(expression), functions={"join": _join})


def _is_of(rule: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    kind, operation = request["kind"], request["operation"]
    return (
        kind["group"] in rule["apiGroups"]
        and f"{kind['kind'].lower()}s" in rule["resources"]
        and operation in rule["operations"]
    )


def _activation(request: Mapping[str, Any], variables: Any) -> dict[str, Any]:
    told = {name: request[name] for name in ("operation", "kind", "namespace", "userInfo")}
    return {
        "object": json_to_cel(request["object"]),
        "oldObject": json_to_cel(request.get("oldObject")),
        "request": json_to_cel(told),
        "namespaceObject": json_to_cel(
            {"metadata": {"name": request["namespace"], **request.get("namespaceMetadata", {})}}
        ),
        "variables": variables,
    }
