"""The objects that a registered webhook is sent, and the faults that leave none. Pure.

A configuration belongs to the administrators of the cluster, who may narrow it as they like. A fault is only
what leaves nothing to review: while the webhook fails open, no one else notices.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from certs.inject import CONFIGURATION_KINDS
from policies.config import spread_policy
from policies.config.controllers import OWN_GROUPS
from policies.model.labels import LabelSelector, Operator
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind

#: The answer to a dry run of an object with it names the webhooks that were called.
PROBE_ANNOTATION: Final = "evenkeel.dev/probe"
#: The paths of the two webhooks of workloads, and for which operations each does something.
OPERATIONS: Final = {"/mutate": frozenset({"CREATE"}), "/validate": frozenset({"CREATE", "UPDATE"})}
#: Where the webhooks of each kind of configuration are answered.
PATHS: Final = dict(zip(CONFIGURATION_KINDS, OPERATIONS, strict=True))
#: What /validate reviews besides workloads: group and resource.
_OTHERS: Final = ((spread_policy.GROUP, spread_policy.PLURAL), ("", "namespaces"))
#: The value of a label that a selector requires to exist.
_ANY_VALUE: Final = "any"


def configuration_path(kind: str, name: str) -> str:
    """Return where the API server has a webhook configuration of a kind."""
    return f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/{name}"


def probe_answer(path: str) -> str:
    """Return the warning by which a webhook answers a probe."""
    return f"{PROBE_ANNOTATION}: answered by {path}"


def reviews(kind: WorkloadKind, path: str) -> bool:
    """Return whether a webhook does something with objects of a kind: default constraints need a selector."""
    return path != "/mutate" or (kind.spreads and (kind.is_pod or kind.selector is not None))


def is_sent(webhook: Mapping[str, Any], kind: WorkloadKind, operations: Collection[str]) -> bool:
    """Return whether the rules of a webhook match objects of a kind, whatever its selectors leave of them.

    Of a kind of ``--workload-kind`` its group is compared: what its resource is called is not known.
    """
    plural = f"{kind.kind.lower()}s" if kind in KNOWN_KINDS else ""
    return _is_sent(webhook, kind.group, plural, operations, scope="Namespaced")


def faults(
    webhook: Mapping[str, Any],
    path: str,
    kinds: Iterable[WorkloadKind],
    *,
    namespaces: Collection[Mapping[str, str]] | None = None,
    selects: Callable[[LabelSelector], bool] = lambda _selector: True,
) -> Iterator[str]:
    """Yield why a webhook of a configuration reviews nothing, each as what is said of it.

    Args:
        webhook: The webhook as the API server returns it.
        path: Where webhooks of such a configuration are answered.
        kinds: The kinds of workload that are looked at.
        namespaces: The labels of all namespaces; None where they are not known.
        selects: Returns whether there is an object that a selector selects.
    """
    if (called := _path(webhook.get("clientConfig") or {})) != path:
        yield f"calls {called}, not {path}, where nothing answers as it should"
    operations = OPERATIONS[path]
    if not any(reviews(kind, path) and is_sent(webhook, kind, operations) for kind in kinds) and not (
        path == "/validate"
        and any(_is_sent(webhook, *other, operations, scope="Cluster") for other in _OTHERS)
    ):
        yield "has rules that match nothing which Evenkeel reviews"
    for condition in webhook.get("matchConditions") or ():
        # CEL is not evaluated.
        if str(condition.get("expression")).strip("() \n") == "false":
            yield f"has the matchCondition {condition.get('name')}, which is never true"
    selector = LabelSelector.parse(webhook.get("namespaceSelector") or {})
    if namespaces and not any(map(selector.matches, namespaces)):
        yield f"has a namespaceSelector that selects none of {len(namespaces)} namespaces: {selector}"
    selector = LabelSelector.parse(webhook.get("objectSelector") or {})
    if labels_for([selector]) is None or not (selector.empty or selects(selector)):
        yield f"has an objectSelector that selects nothing in the cluster: {selector}"


def unsent(
    webhooks: Iterable[Mapping[str, Any]], path: str, kinds: Iterable[WorkloadKind]
) -> list[WorkloadKind]:
    """Return the kinds that a webhook of the path would review, and that the rules of none match."""
    webhooks = list(webhooks)
    return [
        kind
        for kind in kinds
        if reviews(kind, path) and not any(is_sent(webhook, kind, OPERATIONS[path]) for webhook in webhooks)
    ]


def labels_for(selectors: Iterable[LabelSelector]) -> dict[str, str] | None:
    """Return labels that all selectors select; None if there are none.

    >>> labels_for([LabelSelector.parse({"matchLabels": {"a": "b"}}), LabelSelector()])
    {'a': 'b'}
    """
    selectors = list(selectors)
    labels: dict[str, str] = {}
    allowed: dict[str, list[str]] = {}
    for selector in selectors:
        wanted = [(key, [value]) for key, value in selector.match_labels]
        entries = selector.match_expressions
        wanted += [(entry.key, list(entry.values)) for entry in entries if entry.operator is Operator.IN]
        for key, values in wanted:
            allowed[key] = [value for value in allowed.get(key, values) if value in values]
        labels |= {entry.key: _ANY_VALUE for entry in entries if entry.operator is Operator.EXISTS}
    excluded = {
        (entry.key, value)
        for selector in selectors
        for entry in selector.match_expressions
        if entry.operator is Operator.NOT_IN
        for value in entry.values
    }
    for key, values in allowed.items():
        left = [value for value in values if (key, value) not in excluded]
        labels |= {key: left[0]} if left else {}
    return labels if all(selector.matches(labels) for selector in selectors) else None


def _path(client: Mapping[str, Any]) -> str:
    """Return the path that a webhook calls."""
    service = client.get("service")
    if isinstance(service, dict):
        return str(service.get("path") or "/")
    return urlsplit(str(client.get("url") or "")).path or "/"


def _is_sent(
    webhook: Mapping[str, Any], group: str, plural: str, operations: Collection[str], *, scope: str
) -> bool:
    """Return whether a rule matches a resource; any of the group where it has no name."""
    versions = {"*", "v1"}
    return any(
        not {"*", *operations}.isdisjoint(rule.get("operations") or ())
        and not {"*", group}.isdisjoint(rule.get("apiGroups") or ())
        and any(_is_resource(text, plural) for text in rule.get("resources") or ())
        and (group not in OWN_GROUPS or not versions.isdisjoint(rule.get("apiVersions") or ()))
        and (rule.get("scope") or "*") in {"*", scope}
        for rule in webhook.get("rules") or ()
    )


def _is_resource(text: str, plural: str) -> bool:
    """Return whether a rule's text is for objects of a resource, and not for a subresource alone."""
    name, _, sub_resource = text.partition("/")
    return sub_resource in {"", "*"} and (not plural or name in {"*", plural})
