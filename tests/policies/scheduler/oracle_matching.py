"""Which labels a selector matches and which nodes a pod may go to; shares no code with ``policies``.

Source: ``k8s.io/apimachinery/pkg/labels`` and ``k8s.io/component-helpers/scheduling/corev1``, Kubernetes
1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: The integers of Go's ``strconv.ParseInt(text, 10, 64)``, before their range is checked.
INTEGER = re.compile(r"[+-]?[0-9]+")

Object = Mapping[str, Any]
Labels = Mapping[str, str]


class Condition(NamedTuple):
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


#: Conditions that must all hold; None is the selector that matches nothing.
Selector = tuple[Condition, ...] | None


def name_of(obj: Object) -> str:
    """Return an object's name."""
    return str(obj["metadata"]["name"])


def namespace_of(obj: Object) -> str:
    """Return an object's namespace, which is ``default`` where none is written."""
    return str(obj["metadata"].get("namespace") or "default")


def labels_of(obj: Object) -> dict[str, str]:
    """Return an object's labels."""
    return dict((obj.get("metadata") or {}).get("labels") or {})


def selector_of(raw: Object | None) -> Selector:
    """Return a LabelSelector's conditions: null matches nothing, ``{}`` everything."""
    if raw is None:
        return None
    return (*equalities(raw.get("matchLabels") or {}), *conditions(raw.get("matchExpressions") or ()))


def equalities(pairs: Labels) -> tuple[Condition, ...]:
    """Return the conditions that labels hold these very pairs."""
    return tuple(Condition(key, "In", (value,)) for key, value in pairs.items())


def conditions(expressions: Iterable[Object]) -> tuple[Condition, ...]:
    """Return the conditions of ``matchExpressions`` or ``matchFields``."""
    return tuple(
        Condition(entry["key"], entry["operator"], tuple(entry.get("values") or ())) for entry in expressions
    )


def matches(selector: Selector, labels: Labels) -> bool:
    """Tell whether labels satisfy every condition of a selector."""
    return selector is not None and all(holds(condition, labels) for condition in selector)


def holds(condition: Condition, labels: Labels) -> bool:
    """Tell whether labels satisfy a condition.

    "NotIn and DoesNotExist match nodes without the label"; "Gt/Lt compare integers", and where the label is
    absent or no integer they do not hold.
    """
    present, value = condition.key in labels, labels.get(condition.key)
    match condition.operator:
        case "In":
            return present and value in condition.values
        case "NotIn":
            return not present or value not in condition.values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
    of_node, bound = integer(value), integer(condition.values[0])
    if of_node is None or bound is None:
        return False
    return of_node > bound if condition.operator == "Gt" else of_node < bound


def integer(text: str | None) -> int | None:
    """Read an integer of 64 bits as Go does; None for anything else."""
    if text is None or not INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def affinity_allows(pod: Object, node: Object) -> bool:
    """Tell whether ``nodeSelector`` and the required node affinity both allow a node.

    "Terms are ORed … nodeSelector is ANDed with the affinity."
    """
    spec = pod.get("spec") or {}
    if not matches(equalities(spec.get("nodeSelector") or {}), labels_of(node)):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(term_allows(term, node) for term in required.get("nodeSelectorTerms") or ())


def term_allows(term: Object, node: Object) -> bool:
    """Tell whether a term of the affinity allows a node.

    "Requirements of a term are ANDed; a term with neither expressions nor fields matches nothing; matchFields
    knows metadata.name only."
    """
    expressions = conditions(term.get("matchExpressions") or ())
    fields = conditions(term.get("matchFields") or ())
    if not expressions and not fields:
        return False
    names = {"metadata.name": node["metadata"]["name"]}
    return matches(expressions, labels_of(node)) and matches(fields, names)


def tolerates(tolerations: Iterable[Object], taint: Object) -> bool:
    """Tell whether any toleration tolerates a taint."""
    return any(toleration_covers(toleration, taint) for toleration in tolerations)


def toleration_covers(toleration: Object, taint: Object) -> bool:
    """Tell whether a toleration tolerates a taint.

    "Empty key with Exists tolerates everything; empty effect tolerates every effect; operator defaults to
    Equal." Gt and Lt tolerate nothing while their gate is off, as it is by default.
    """
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator != "Equal":
        return bool(operator == "Exists")
    return (toleration.get("value") or "") == (taint.get("value") or "")


def has_untolerated_taint(pod: Object, node: Object) -> bool:
    """Tell whether a node has a NoSchedule or NoExecute taint that a pod does not tolerate."""
    tolerations = pod["spec"].get("tolerations") or ()
    return any(
        taint["effect"] in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint)
        for taint in (node.get("spec") or {}).get("taints") or ()
    )
