"""Changes after which a registered webhook reviews nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Webhook = dict[str, Any]


def _calling(path: str) -> Callable[[Webhook], object]:
    return lambda webhook: webhook["clientConfig"]["service"].update(path=path)


def _with(**fields: Any) -> Callable[[Webhook], object]:
    return lambda webhook: webhook.update(fields)


def _rules(**fields: Any) -> Callable[[Webhook], object]:
    return lambda webhook: webhook.update(rules=[{**rule, **fields} for rule in webhook["rules"]])


NOWHERE = {"matchLabels": {"example.com/no": "such"}}
#: The changes to the validating webhook, by the words for them.
IDLE: dict[str, Callable[[Webhook], object]] = {
    "a wrong path": _calling("/wrong"),
    "the other webhook's path": _calling("/mutate"),
    "no path": lambda webhook: webhook["clientConfig"]["service"].pop("path"),
    "rules of another group": _rules(apiGroups=["example.com"]),
    "rules of another version": _with(
        rules=[{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v2"], "resources": ["*"]}]
    ),
    "rules of another operation": _rules(operations=["DELETE"]),
    "rules of subresources": _rules(resources=["pods/status", "deployments/scale"]),
    "rules of another scope": _rules(scope="Cluster"),
    "no rules": _with(rules=[]),
    "a namespaceSelector that selects nothing": _with(namespaceSelector=NOWHERE),
    "an objectSelector that selects nothing": _with(objectSelector=NOWHERE),
    "an objectSelector that nothing can match": _with(
        objectSelector={
            "matchExpressions": [{"key": "a", "operator": op} for op in ("Exists", "DoesNotExist")]
        }
    ),
    "a condition that is false": _with(matchConditions=[{"name": "off", "expression": " (false)\n"}]),
}
#: Those that may match again tomorrow: it is not certain that nothing is reviewed.
ONLY_TOLD = {"an objectSelector that selects nothing"}
