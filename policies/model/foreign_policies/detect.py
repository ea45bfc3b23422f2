"""Documents of other policy engines that inject spread constraints: what they would inject, and into what.

Kyverno's ClusterPolicy and Policy, its MutatingPolicy and Kubernetes' MutatingAdmissionPolicy, which are
written in CEL, and Gatekeeper's Assign. What cannot be read literally is left out, whatever else is wrong
with the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from policies.manifests.fields import ErrorList, FieldPath, descend
from policies.model.foreign_policies import cel, kyverno
from policies.model.foreign_policies.constraints import CONSTRAINTS, ForeignInjection, read_selector

#: The kinds of document that are read: group and kind.
KYVERNO = frozenset([("kyverno.io", "ClusterPolicy"), ("kyverno.io", "Policy")])
CEL = frozenset(
    [
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("policies.kyverno.io", "MutatingPolicy"),
        ("policies.kyverno.io", "NamespacedMutatingPolicy"),
    ]
)
GATEKEEPER = ("mutations.gatekeeper.sh", "Assign")

#: ``spec.location`` of an Assign that sets the list, or one entry of it.
_LOCATION = re.compile(
    rf"spec\.(?:template\.spec\.|jobTemplate\.spec\.template\.spec\.)?{CONSTRAINTS}(\[.*\])?"
)
#: Fields of ``spec.match`` of an Assign that select certain objects.
_NARROWING = ("labelSelector", "namespaceSelector", "namespaces", "name")


def extract(obj: Mapping[str, Any]) -> list[ForeignInjection]:
    """Return the constraints that an object injects; empty for one that is no such document."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return []
    name = (version.rpartition("/")[0], kind)
    if name in KYVERNO:
        return list(kyverno.injections(obj))
    if name in CEL:
        # Which objects a MutatingAdmissionPolicy is for, its binding decides too.
        return list(cel.injections(obj, has_binding=kind == "MutatingAdmissionPolicy"))
    return _assigned(obj) if name == GATEKEEPER else []


def _assigned(obj: Mapping[str, Any]) -> list[ForeignInjection]:
    found = ErrorList()
    spec = descend(obj, ("spec",), found)
    location = spec.get("location")
    match = _LOCATION.fullmatch(location) if isinstance(location, str) else None
    value = descend(spec, ("parameters", "assign"), found).get("value")
    single = match is not None and match[1] is not None
    if match is None or not isinstance(value, dict if single else list):
        return []
    asked = descend(spec, ("match",), found)
    return [
        ForeignInjection(
            path=FieldPath(("spec", "parameters", "assign", "value")),
            constraints=(value,) if single else tuple(value),
            single=single,
            kinds=_kinds(spec.get("applyTo")) & (_kinds(asked.get("kinds")) or _kinds(spec.get("applyTo"))),
            selector=read_selector(asked.get("labelSelector")),
            narrowed=any(asked.get(name) for name in _NARROWING),
        )
    ]


def _kinds(entries: object) -> frozenset[str]:
    """Return the kinds of a list of groups and kinds; none if it holds a wildcard."""
    listed: list[Iterable[Any]] = [
        ErrorList().items(entry.get("kinds"), FieldPath())
        for _, entry in ErrorList().objects(entries, FieldPath())
    ]
    kinds = frozenset(kind for entry in listed for kind in entry if isinstance(kind, str))
    return frozenset() if "*" in kinds else kinds
