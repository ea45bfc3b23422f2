"""What this release registers at the API server, and how a registered configuration differs from it. Pure.

While a webhook fails open, no one notices what it is not sent. So what the webhooks of a configuration send
together is compared with what this release installs: ``webhooks.jsonl``, which ``make generate`` writes from
the shipped manifests. What values of the chart leave out is left out on purpose. CEL is not evaluated: a
condition is known by its expression.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib import resources
from itertools import product
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from certs.inject import CONFIGURATION_KINDS
from policies.config.controllers import OWN_GROUPS
from policies.manifests.fields import shown
from policies.manifests.words import IN_MESSAGE, listed
from policies.model.labels import LabelSelector, Operator
from policies.model.workload_kinds import KNOWN_KINDS, WorkloadKind

#: The answer to a dry run of an object with it names the webhooks that were called.
PROBE_ANNOTATION: Final = "evenkeel.dev/probe"
#: The paths of the two webhooks of workloads, and for which operations each does something.
OPERATIONS: Final = {"/mutate": frozenset({"CREATE"}), "/validate": frozenset({"CREATE", "UPDATE"})}
#: Where the webhooks of each kind of configuration are answered.
PATHS: Final = dict(zip(CONFIGURATION_KINDS, OPERATIONS, strict=True))
#: What is not done with objects that are not sent there.
DONE: Final = {"/mutate": "injected", "/validate": "validated"}
#: The webhooks of the shipped manifests, one on each line, and what stands there for the own namespace.
SHIPPED: Final = "webhooks.jsonl"
OWN_NAMESPACE: Final = "$NAMESPACE"
#: The scope of workloads.
_NAMESPACED: Final = "Namespaced"
#: The form of reviews that the server reads. API servers send the first that they know.
_REVIEW: Final = "v1"
#: A namespace that is created tomorrow, and the one label that each has.
_NEW_NAMESPACE, _NAME_LABEL = "any new namespace", "kubernetes.io/metadata.name"
#: The fields that decide what a webhook is sent, and where.
_DECISIVE: Final = frozenset({"name", "clientConfig", "rules", "matchConditions"})
#: The value of a label that a selector requires to exist.
_ANY_VALUE: Final = "any"


def configuration_path(kind: str, name: str) -> str:
    """Return where the API server has a webhook configuration of a kind."""
    return f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/{name}"


def split_path(path: str) -> tuple[str, str]:
    """Return the route of a path that webhooks call, and the token after it; both empty if it is none.

    What logs, errors and checks name is the route, never a path.

    >>> split_path("/validate"), split_path("/validate/s3cr3t"), split_path("/livez")
    (('/validate', ''), ('/validate', 's3cr3t'), ('', ''))
    """
    start, _, rest = path.partition("/")
    name, _, token = rest.partition("/")
    return (f"/{name}", token) if not start and f"/{name}" in OPERATIONS else ("", "")


def probe_answer(path: str) -> str:
    """Return the warning by which a webhook answers a probe."""
    return f"{PROBE_ANNOTATION}: answered by {path}"


def reviews(kind: WorkloadKind, path: str) -> bool:
    """Return whether a webhook does something with objects of a kind: default constraints need a selector."""
    return path != "/mutate" or (kind.spreads and (kind.is_pod or kind.selector is not None))


def is_sent(webhook: Mapping[str, Any], kind: WorkloadKind, operations: Collection[str]) -> bool:
    """Return whether the rules of a webhook match objects of a kind, whatever its selectors leave of them."""
    return any(_sends(webhook, request, exact=False) for request in _requests_of(kind, operations))


@lru_cache
def installed(kind: str, namespace: str) -> tuple[Mapping[str, Any], ...]:
    """Return the webhooks of a configuration as this release installs it from a namespace."""
    text = resources.files(__package__).joinpath(SHIPPED).read_text("utf-8")
    entries = map(json.loads, text.replace(OWN_NAMESPACE, namespace).splitlines())
    return tuple(entry["webhook"] for entry in entries if entry["configuration"] == kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is known of the cluster and of the installation whose webhooks are compared."""

    namespace: str  #: Where the installation is.
    kinds: Collection[WorkloadKind] = KNOWN_KINDS  #: The kinds of workload that it looks at.
    #: The labels of all namespaces by their names; empty where they are not known.
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Returns whether there is an object that a selector selects.
    selects: Callable[[LabelSelector], bool] = lambda _selector: True


class RegistrationDifferences(NamedTuple):
    """How a registered configuration differs from the one that this release installs."""

    gaps: list[str]  #: The differences that leave objects unchecked, each with which.
    notes: list[str]  #: Other differences, such as those that values of the chart make.
    reviewed: bool  #: Whether workloads are sent to a webhook that answers.


class _Request(NamedTuple):
    """An operation on a resource; empty is a version or a resource that is not known."""

    scope: str
    operation: str
    group: str
    version: str
    resource: str


def compare(
    kind: str, name: str, webhooks: Sequence[Mapping[str, Any]] | None, known: Surroundings
) -> RegistrationDifferences:
    """Compare a configuration, whose webhooks are None if it does not exist, with that of this release.

    What its webhooks send together counts: one that is split, such as for two failure policies, is whole.
    """
    done = DONE[PATHS[kind]]
    if not webhooks:
        what = "does not exist" if webhooks is None else "has no webhooks"
        return RegistrationDifferences([f"{kind} {name} {what}: nothing is {done}"], [], reviewed=False)
    gaps, notes, reviewed, standards = list[str](), list[str](), False, installed(kind, known.namespace)
    for standard in standards:
        obstacles = [list(_obstacles(webhook, standard, kind, known)) for webhook in webhooks]
        left_out = cache(partial(_left_out, webhooks, standard, known))
        unsent: dict[tuple[str, bool], list[_Request]] = {}
        for request in _requests(standard, PATHS[kind], known.kinds):
            senders = [place for place, webhook in enumerate(webhooks) if _sends(webhook, request)]
            reasons = [(text, True) for place in senders for text, _ in obstacles[place]]
            if not senders:
                reasons = [(_nearest(webhooks, request) or f"{kind} {name} lacks a rule: ", True)]
            elif answering := tuple(place for place in senders if not obstacles[place]):
                reasons = left_out(answering)
            for each in reasons:
                unsent.setdefault(each, []).append(request)
            reviewed |= request.scope == _NAMESPACED and not all(
                any(whole for _, whole in obstacles[place]) for place in senders
            )
        for (reason, grave), requests in unsent.items():
            (gaps if grave else notes).append(f"{reason}{_listed(requests)} is not {done}")
    notes += [note for webhook in webhooks for note in _notes(webhook, standards)]
    return RegistrationDifferences(gaps, notes, reviewed)


def answers(webhook: Mapping[str, Any], kind: str, known: Surroundings) -> bool:
    """Return whether a webhook may answer for some of the workloads that its rules match."""
    standard, *_ = installed(kind, known.namespace)
    return not any(whole for _, whole in _obstacles(webhook, standard, kind, known))


def _requests(standard: Mapping[str, Any], path: str, kinds: Iterable[WorkloadKind]) -> Iterator[_Request]:
    """Yield what a shipped webhook is sent; one of workloads also what the chart has to be told of."""
    for rule in standard["rules"]:
        lists = (rule[name] for name in ("operations", "apiGroups", "apiVersions", "resources"))
        yield from (_Request(rule["scope"], *each) for each in product(*lists))
    if standard["rules"][0]["scope"] == _NAMESPACED:
        for kind in kinds:
            if kind not in KNOWN_KINDS and reviews(kind, path):
                yield from _requests_of(kind, sorted(OPERATIONS[path]))


def _requests_of(kind: WorkloadKind, operations: Iterable[str]) -> Iterator[_Request]:
    """Yield operations on a kind; what the resource of one of ``--workload-kind`` is called is not known."""
    resource = f"{kind.kind.lower()}s" if kind in KNOWN_KINDS else ""
    version = "v1" if kind.group in OWN_GROUPS else ""
    return (_Request(_NAMESPACED, operation, kind.group, version, resource) for operation in operations)


def _sends(webhook: Mapping[str, Any], request: _Request, *, exact: bool = True) -> bool:
    """Return whether a rule matches a request; unless ``exact`` in its own version, otherwise in any."""
    return any(not _mismatches(webhook, rule, request, exact=exact) for rule in webhook.get("rules") or ())


def _mismatches(
    webhook: Mapping[str, Any], rule: Mapping[str, Any], request: _Request, *, exact: bool = True
) -> list[str]:
    """Return the fields by which a rule does not match a request."""
    versions = rule.get("apiVersions") or ()
    matches = {
        "operations": not {"*", request.operation}.isdisjoint(rule.get("operations") or ()),
        "apiGroups": not {"*", request.group}.isdisjoint(rule.get("apiGroups") or ()),
        "apiVersions": not request.version or not {"*", request.version}.isdisjoint(versions),
        "resources": any(_is_resource(text, request.resource) for text in rule.get("resources") or ()),
        "scope": (rule.get("scope") or "*") in {"*", request.scope},
        # Then other versions of the resource are not converted, and pass.
        "matchPolicy": not exact or "*" in versions or webhook.get("matchPolicy") != "Exact",
    }
    return [name for name, match in matches.items() if not match]


def _is_resource(text: str, plural: str) -> bool:
    """Return whether a rule's text is for objects of a resource, and not for a subresource alone."""
    name, _, sub_resource = text.partition("/")
    return sub_resource in {"", "*"} and (not plural or name in {"*", plural})


def _nearest(webhooks: Iterable[Mapping[str, Any]], request: _Request) -> str:
    """Return the one field by which some rule does not match a request; empty if all differ in more."""
    for webhook in webhooks:
        for rule in webhook.get("rules") or ():
            wrong, *others = _mismatches(webhook, rule, request)
            if not others:
                if wrong == "matchPolicy":
                    return f"{webhook.get('name')} has matchPolicy Exact: in other versions "
                return f"{webhook.get('name')} has a rule with {wrong} {shown(rule.get(wrong))}: "
    return ""


def _obstacles(
    webhook: Mapping[str, Any], standard: Mapping[str, Any], kind: str, known: Surroundings
) -> Iterator[tuple[str, bool]]:
    """Yield why a webhook does not answer for all that its rules match, and if that leaves nothing."""
    has, path = f"{webhook.get('name')} has", PATHS[kind]
    if (called := _route(webhook.get("clientConfig") or {})) != path:
        yield f"{webhook.get('name')} calls {called}, not {path}: ", True
    if (forms := webhook.get("admissionReviewVersions") or [_REVIEW])[0] != _REVIEW:
        yield f"{has} admissionReviewVersions {shown(forms)}, not {_REVIEW} first: ", True
    for condition in webhook.get("matchConditions") or ():
        text = _expression(condition)
        if text not in map(_expression, standard.get("matchConditions") or ()):
            what = f"{has} the matchCondition {condition.get('name')}, which this release does not install"
            yield f"{what}, {shown(text)}: what it leaves out of ", text.strip("() ") == "false"
    selector = LabelSelector.parse(webhook.get("objectSelector") or {})
    if (impossible := labels_for([selector]) is None) or not (selector.empty or known.selects(selector)):
        yield f"{has} an objectSelector that selects nothing in the cluster, {selector}: ", impossible
    elif not selector.empty and standard["rules"][0]["scope"] != _NAMESPACED:
        # The value of the chart is for workloads.
        yield f"{has} the objectSelector {selector}: what it leaves out of ", False
    selector, count = _namespace_selector(webhook), len(known.namespaces)
    if count and not (selector.empty or any(map(selector.matches, known.namespaces.values()))):
        yield f"{has} a namespaceSelector that selects none of {count} namespaces, {selector}: ", True


def _expression(condition: Mapping[str, Any]) -> str:
    return " ".join(str(condition.get("expression")).split())


def _namespace_selector(webhook: Mapping[str, Any]) -> LabelSelector:
    return LabelSelector.parse(webhook.get("namespaceSelector") or {})


def _left_out(
    webhooks: Sequence[Mapping[str, Any]],
    standard: Mapping[str, Any],
    known: Surroundings,
    places: tuple[int, ...],
) -> list[tuple[str, bool]]:
    """Return which namespaces some webhooks leave out unlike a shipped one, and whether no value does so."""
    wanted, selectors = _namespace_selector(standard), [_namespace_selector(webhooks[at]) for at in places]
    # Where none is wanted, the API server does not look at it: the resource is not in namespaces.
    if wanted.empty or wanted in selectors:
        return []
    everywhere = {**known.namespaces, _NEW_NAMESPACE: {_NAME_LABEL: _NEW_NAMESPACE}}
    names = [
        name
        for name, labels in everywhere.items()
        if wanted.matches(labels) and not any(selector.matches(labels) for selector in selectors)
    ]
    # A value of the chart only adds to the requirements. Which namespace is the own one may not be known.
    added = all(
        any(
            (has.key, has.operator) == (entry.key, entry.operator)
            and {*entry.values} <= {*has.values, known.namespace}
            for has in selector.match_expressions
        )
        for selector in selectors
        for entry in wanted.match_expressions
    )
    has = " and ".join(f"{webhooks[at].get('name')} ({_namespace_selector(webhooks[at])})" for at in places)
    text = f"namespaceSelector of {has} leaves out {listed(names, IN_MESSAGE)}: there "
    return [(text, not added)] if names else []


def _notes(webhook: Mapping[str, Any], standards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the differences from the shipped webhook of the same name, else from that of workloads."""
    name = webhook.get("name")
    standard = next((each for each in standards if each["name"] == name), standards[0])
    for key in sorted(webhook.keys() - _DECISIVE):
        if (webhook[key] or None) != (standard.get(key) or None):
            without = ": what it does not select is left out" if key == "objectSelector" else ""
            yield f"{name} has {key} {shown(webhook[key])}, this release {shown(standard.get(key))}{without}"
    expressions = [*map(_expression, webhook.get("matchConditions") or ())]
    for condition in standard.get("matchConditions") or ():
        if _expression(condition) not in expressions:
            yield f"{name} has no matchCondition {condition['name']}: more is sent than needs an answer"


def _listed(requests: Iterable[_Request]) -> str:
    """Return requests as text: the resources of each set of operations."""
    operations: dict[str, str] = {}
    for request in requests:
        name = f"{request.resource or '*'}.{request.group}".rstrip(".")
        before = f"{operations[name]} and " if name in operations else ""
        operations[name] = f"{before}{request.operation}"
    names = {each: [name for name, own in operations.items() if own == each] for each in operations.values()}
    return "; ".join(f"{which} of {listed(found, IN_MESSAGE)}" for which, found in names.items())


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


def _route(client: Mapping[str, Any]) -> str:
    """Return where the server is called: what decides which webhook it is."""
    service = client.get("service")
    of_url = urlsplit(str(client.get("url") or "")).path
    path = str(service.get("path")) if isinstance(service, dict) else of_url
    return split_path(path)[0] or "another path"
