"""What is registered, compared with what this release installs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from itertools import product
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policies.model.labels import LabelSelector
from policies.model.workload_kinds import KNOWN_KINDS, parse_workload_kind
from tests.deploy.manifests import CHART, DEPLOY, base, render
from tests.webhook.registrations import IDLE, ONLY_TOLD
from webhook.registration import (
    DONE,
    PATHS,
    RegistrationDifferences,
    Surroundings,
    compare,
    installed,
    is_sent,
    labels_for,
    reviews,
)

MUTATING, VALIDATING = PATHS
NAMESPACES = {
    name: {"kubernetes.io/metadata.name": name} for name in ("kube-system", "evenkeel", "shop", "pay")
}
KNOWN = Surroundings(namespace="evenkeel", namespaces=NAMESPACES)
SELECTOR = {"key": "team", "operator": "In", "values": ["a"]}
OTHERS = SELECTOR | {"operator": "NotIn"}

Webhook = dict[str, Any]
#: The way to a value, as keys and places.
Way = tuple[str | int, ...]


def shipped(kind: str = VALIDATING) -> list[Webhook]:
    """Return the webhooks of the manifests, for a test to change."""
    return copy.deepcopy(base()[kind, "evenkeel"]["webhooks"])


def compared(
    webhooks: list[Webhook], kind: str = VALIDATING, known: Surroundings = KNOWN
) -> RegistrationDifferences:
    return compare(kind, "evenkeel", webhooks, known)


@pytest.mark.parametrize("kind", PATHS)
def test_what_is_shipped_is_in_order(kind: str) -> None:
    """Nothing differs."""
    assert RegistrationDifferences([], [], reviewed=True) == compared(shipped(kind), kind)


@pytest.mark.parametrize("kind", PATHS)
def test_the_packaged_file_is_what_is_installed(kind: str) -> None:
    """Chart and kustomization install what doctor and replicas compare with: all known kinds."""
    for manifests in (base(), render()):
        webhooks = [dict(webhook) for webhook in manifests[kind, "evenkeel"]["webhooks"]]
        clients = [webhook.pop("clientConfig") for webhook in webhooks]

        assert {PATHS[kind]} == {client["service"]["path"] for client in clients}
        assert list(installed(kind, "evenkeel")) == webhooks
    for known in KNOWN_KINDS:
        assert reviews(known, PATHS[kind]) == is_sent(installed(kind, "evenkeel")[0], known, ["CREATE"])


def test_the_example_leaves_nothing_unchecked() -> None:
    """Who registers by hand sends at least as much."""
    for configuration in yaml.safe_load_all((DEPLOY / "examples/webhooks.yaml").read_text()):
        assert [] == compared(configuration["webhooks"], configuration["kind"]).gaps


@pytest.mark.parametrize("change", IDLE, ids=IDLE.keys())
def test_what_leaves_nothing(change: str) -> None:
    """Each is said, and that no workload is reviewed where that is certain."""
    webhooks = shipped()
    IDLE[change](webhooks[0])
    found = compared(
        webhooks,
        known=Surroundings(namespace="evenkeel", namespaces=NAMESPACES, selects=lambda _selector: False),
    )

    assert found.gaps
    assert (change in ONLY_TOLD) == found.reviewed


@pytest.mark.parametrize("webhooks", [None, []])
def test_what_does_not_exist(webhooks: list[Webhook] | None) -> None:
    """A configuration without webhooks is as none."""
    found = compare(VALIDATING, "evenkeel", webhooks, KNOWN)

    assert (1, [], False) == (len(found.gaps), found.notes, found.reviewed)


def _ways(value: Any, at: Way = ()) -> Iterator[Way]:
    """Yield the way to each value below one."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*at, key)
            yield from _ways(below, (*at, key))


def _at(value: Any, way: Way) -> Any:
    return reduce(lambda found, key: found[key], way, value)


def _sent(kind: str, webhooks: list[Webhook]) -> set[tuple[str, ...]]:
    """Return what reaches the server of what it reviews: operation, group, version, resource and namespace.

    Written anew after ``Matcher`` and ``ShouldCallHook``, apiserver ``plugin/webhook``, Kubernetes 1.36. A
    condition that is not shipped for a webhook is taken to let nothing by.
    """
    found = set[tuple[str, ...]]()
    for standard in shipped(kind):
        conditions = [each["expression"] for each in standard.get("matchConditions", ())]
        for rule in standard["rules"]:
            names = (rule[name] for name in ("operations", "apiGroups", "apiVersions", "resources"))
            for request in product(*names, (*NAMESPACES, "tomorrow")):
                if any(_calls(each, kind, request, rule["scope"], conditions) for each in webhooks):
                    found.add(request)
    return found


def _calls(webhook: Webhook, kind: str, request: tuple[str, ...], scope: str, conditions: list[str]) -> bool:
    operation, group, version, resource, namespace = request
    selector = LabelSelector.parse(webhook.get("namespaceSelector") or {})
    of_namespace = scope == "Namespaced" or resource == "namespaces"
    return (
        webhook.get("clientConfig", {}).get("service", {}).get("path") == PATHS[kind]
        and webhook.get("admissionReviewVersions", ["v1"])[0] == "v1"
        and (not of_namespace or selector.matches({"kubernetes.io/metadata.name": namespace}))
        and all(each.get("expression") in conditions for each in webhook.get("matchConditions", ()))
        and any(
            {operation, "*"} & {*rule.get("operations", ())}
            and {group, "*"} & {*rule.get("apiGroups", ())}
            and {resource, "*"} & {*rule.get("resources", ())}
            and rule.get("scope", "*") in {"*", scope}
            and {version, "*"} & {*rule.get("apiVersions", ())}
            and ("*" in rule["apiVersions"] or webhook.get("matchPolicy") != "Exact")
            for rule in webhook.get("rules", ())
        )
    )


#: What cannot be stored is not tried: a selector of parts, and a webhook without a form of reviews.
_WHOLE = ("matchExpressions", "admissionReviewVersions")


@given(data=st.data())
def test_any_one_field_that_is_changed(data: st.DataObject) -> None:
    """If less reaches the server it is a gap that says what; else it is none, and what is set is noted."""
    kind = data.draw(st.sampled_from(list(PATHS)), label="kind")
    webhooks = shipped(kind)
    texts = sorted(
        {value for way in _ways(webhooks) if isinstance(value := _at(webhooks, way), str) and value}
    )
    words = st.sampled_from([*texts, "Cluster", "Exact", "Fail", "In", "Never", "v1beta1", "other"])
    ways = [way for way in _ways(webhooks) if len(way) > 1 and way[-1] not in ("name", "key", "operator")]
    *above, key = data.draw(st.sampled_from(ways), label="field")
    parent = _at(webhooks, tuple(above))
    old = parent[key]
    # An element or a field is left out, or gets another value of its type.
    choices: list[st.SearchStrategy[Any]] = [] if {*_WHOLE} & {key, *above} else [st.none()]
    if isinstance(old, str):
        choices.append(words)
    if isinstance(old, list) and isinstance(old[0], str):
        choices.append(st.lists(words, min_size=1, max_size=3))
    if isinstance(old, int):
        choices.append(st.integers(1, 30))
    new = data.draw(st.one_of(choices) if choices else st.just(old), label="value")
    if new is None:
        del parent[key]
    else:
        parent[key] = new
    found = compared(webhooks, kind)
    lost = _sent(kind, shipped(kind)) - _sent(kind, webhooks)

    # More namespaces are what a value of the chart leaves out.
    excluded = "values" in (key, *above) and {"kube-system", "kube-public", "kube-node-lease"} <= {
        *_at(webhooks, (*above, key) if key == "values" else tuple(above))
    }
    assert bool(lost and not excluded) == bool(found.gaps)
    told = [text for text in (found.notes if excluded else found.gaps) if DONE[PATHS[kind]] in text]
    said, unchecked = " ".join(told), " ".join(text.rpartition(": ")[2] for text in told)
    assert {operation for operation, *_ in lost} == {
        each for each in ("CREATE", "UPDATE") if each in unchecked
    }
    for *_, resource, namespace in lost:
        assert resource in unchecked or " more " in unchecked
        assert namespace in said or namespace == "tomorrow" or "namespaceSelector" not in said
    if new != old and key in ("failurePolicy", "timeoutSeconds", "sideEffects", "reinvocationPolicy"):
        assert new is None or key in " ".join(found.notes)


@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist"])
@pytest.mark.parametrize("key", ["kubernetes.io/metadata.name", "team"])
def test_any_other_selector_of_namespaces(key: str, operator: str) -> None:
    """What leaves a namespace out that the shipped one sends is a gap that names it."""
    entry = {"key": key, "operator": operator} | ({"values": ["shop"]} if "In" in operator else {})
    webhooks = shipped()
    webhooks[0]["namespaceSelector"] = {"matchExpressions": [entry]}
    lost = {namespace for *_, namespace in _sent(VALIDATING, shipped()) - _sent(VALIDATING, webhooks)}
    found = compared(webhooks)

    assert bool(lost) == bool(found.gaps)
    assert all(name in " ".join(found.gaps) for name in lost - {"tomorrow"}) or not found.reviewed


def _values() -> list[Any]:
    pod = {"group": "acme.io", "kind": "Widget", "resource": "widgetry", "template": "spec.pod"}
    return [
        {},
        {"webhooks": {"timeoutSeconds": 10}},
        {"webhooks": {"validate": {"failurePolicy": "Fail"}}},
        {"webhooks": {"excludeNamespaces": ["pay", "kube-system"]}},
        {"webhooks": {"namespaceSelector": {"matchLabels": {"team": "a"}}}},
        {"webhooks": {"namespaceSelector": {"matchExpressions": [SELECTOR]}}},
        {"webhooks": {"objectSelector": {"matchLabels": {"app": "web"}}}},
        {"customKinds": [pod | {"selector": "spec.selector"}]},
        {"name": "keel", "certificates": {"source": "certManager"}},
    ]


@pytest.mark.parametrize("values", _values(), ids=json.dumps)
@pytest.mark.parametrize("kubernetes", ["1.24.0", "1.36.0"])
def test_no_value_of_the_chart_is_a_gap(values: Mapping[str, Any], kubernetes: str) -> None:
    """What administrators leave out by a value is noted, and no failure."""
    manifests = render(values=values, kubernetes=kubernetes)
    known = Surroundings(namespace="evenkeel", namespaces={**NAMESPACES, "a": {"team": "a"}})
    found = {
        kind: compared(manifests[kind, values.get("name", "evenkeel")]["webhooks"], kind, known)
        for kind in PATHS
    }

    assert all((each.gaps, each.reviewed) == ([], True) for each in found.values())
    differs = "webhooks" in values or kubernetes == "1.24.0"
    assert differs == bool(found[VALIDATING].notes)


def test_every_value_of_webhooks_is_tried() -> None:
    """A value that the chart gets must be among those above."""
    webhooks = yaml.safe_load((CHART / "values.yaml").read_text())["webhooks"]

    assert webhooks.keys() == {name for values in _values() for name in values.get("webhooks", ())}


def _halves(first: Callable[[Webhook], object], second: Callable[[Webhook], object]) -> list[Webhook]:
    """Return the shipped webhooks with that of workloads in two, for two failure policies."""
    (workloads, *others), (strict, *_) = shipped(), shipped()
    strict |= {"name": "strict.evenkeel.dev", "failurePolicy": "Fail"}
    first(workloads)
    second(strict)
    return [workloads, strict, *others]


def _requires(requirement: Mapping[str, Any]) -> Callable[[Webhook], object]:
    return lambda webhook: webhook["namespaceSelector"]["matchExpressions"].append(requirement)


def _selects(requirement: Mapping[str, Any]) -> Callable[[Webhook], object]:
    return lambda webhook: webhook.update(namespaceSelector={"matchExpressions": [requirement]})


def _rules(start: int | None, end: int | None) -> Callable[[Webhook], object]:
    return lambda webhook: webhook.update(rules=webhook["rules"][start:end])


def _operations(*names: str) -> Callable[[Webhook], object]:
    return lambda webhook: [rule.update(operations=[*names]) for rule in webhook["rules"]]


@pytest.mark.parametrize(
    ("webhooks", "whole"),
    [
        pytest.param(_halves(_requires(SELECTOR), _requires(OTHERS)), True, id="by namespaces"),
        pytest.param(_halves(_selects(SELECTOR), _selects(OTHERS)), True, id="by namespaces, none excluded"),
        pytest.param(
            _halves(_selects(SELECTOR), _selects(SELECTOR | {"values": ["b"]})),
            False,
            id="by namespaces, others left out",
        ),
        pytest.param(_halves(_rules(None, 2), _rules(2, None)), True, id="by rules"),
        pytest.param(_halves(_rules(None, 2), _rules(3, None)), False, id="by rules, one left out"),
        pytest.param(_halves(_operations("CREATE"), _operations("UPDATE")), True, id="by operations"),
        pytest.param(
            _halves(_operations("CREATE"), _operations("DELETE")), False, id="by operations, one out"
        ),
    ],
)
def test_parts_count_together(webhooks: list[Webhook], *, whole: bool) -> None:
    """Administrators may split a webhook, as long as nothing falls between."""
    assert whole == (compared(webhooks).gaps == [])


@pytest.mark.parametrize(
    "rule",
    [
        {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]},
        {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": "*"},
    ],
)
def test_more_is_no_gap(rule: dict[str, Any]) -> None:
    """A wide rule costs calls."""
    assert [] == compared([webhook | {"rules": [rule]} for webhook in shipped()]).gaps


def test_kinds_that_the_server_was_told_of() -> None:
    """A kind of ``--workload-kind`` needs a rule of its group, on /mutate only if it has a selector."""
    widget = parse_workload_kind("acme.io/Widget=spec.pod")
    known = Surroundings(namespace="evenkeel", namespaces=NAMESPACES, kinds=[*KNOWN_KINDS, widget])

    assert [] == compared(shipped(MUTATING), MUTATING, known).gaps
    (gap,) = compared(shipped(), known=known).gaps
    assert "acme.io" in gap


def test_without_the_cluster() -> None:
    """What is not known is no gap, but any new namespace is left out where one is named."""
    webhooks = shipped()
    webhooks[0]["objectSelector"] = {"matchLabels": {"example.com/no": "such"}}
    assert [] == compared(webhooks, known=Surroundings(namespace="evenkeel")).gaps

    webhooks[0]["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    assert compared(webhooks, known=Surroundings(namespace="evenkeel")).gaps


def test_another_namespace_of_evenkeel() -> None:
    """The own namespace is left out wherever it is, also where it is not known."""
    webhooks = json.loads(json.dumps(shipped()).replace('"evenkeel"]', '"ops"]'))
    namespaces = {**NAMESPACES, "ops": {"kubernetes.io/metadata.name": "ops"}}
    there = Surroundings(namespaces=namespaces, namespace="ops")

    assert RegistrationDifferences([], [], reviewed=True) == compared(webhooks, known=there)
    assert [] == compared(webhooks, known=Surroundings(namespace="default", namespaces=namespaces)).gaps


@pytest.mark.parametrize(
    ("selectors", "labels"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([{"matchLabels": {"a": "b"}}, {"matchLabels": {"c": "d"}}], {"a": "b", "c": "d"},
                     id="two"),
        pytest.param([{"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}], None,
                     id="against each other"),
        pytest.param(
            [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]},
                                   {"key": "a", "operator": "NotIn", "values": ["b"]},
                                   {"key": "d", "operator": "Exists"},
                                   {"key": "e", "operator": "DoesNotExist"}]}],
            {"a": "c", "d": "any"},
            id="every operator",
        ),
    ],
)  # fmt: skip
def test_labels_for_selectors(selectors: list[dict[str, Any]], labels: dict[str, str] | None) -> None:
    """A probe must be selected."""
    assert labels == labels_for(map(LabelSelector.parse, selectors))
