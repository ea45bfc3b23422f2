"""Which objects a policy is for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.config.scope import Scope
from policies.model.labels import SUBDOMAIN_LENGTH
from tests.policies.config.documents import policy_of

POD = frozenset({"Pod", "ReplicaSet", "Deployment"})


def a_scope(**fields: Any) -> Scope:
    return policy_of(scope=fields).scope


@pytest.mark.parametrize(
    ("scope", "namespace", "expected"),
    [
        pytest.param({}, "shop", True, id="no scope: everything"),
        pytest.param({"excludeNamespaces": ["kube-system"]}, "kube-system", False, id="excluded"),
        pytest.param({"excludeNamespaces": ["kube-*"]}, "kube-system", False, id="excluded by a pattern"),
        pytest.param(
            {"excludeNamespaces": ["kube-*"]}, "my-kube-system", True, id="a pattern is the whole name"
        ),
        pytest.param({"namespaces": ["shop"]}, "shop", True, id="listed"),
        pytest.param({"namespaces": ["shop"]}, "shop2", False, id="not listed"),
        pytest.param({"namespaces": ["team-*-prod"]}, "team-a-prod", True, id="listed by a pattern"),
        pytest.param({"namespaces": ["team-*-prod"]}, "team-prod", False, id="the dashes do not overlap"),
        pytest.param({"namespaces": ["*"]}, "x", True, id="a star alone"),
        pytest.param({"namespaces": []}, "x", True, id="an empty list: everything"),
        pytest.param({"namespaces": ["a*"], "excludeNamespaces": ["ab"]}, "ab", False, id="excluded wins"),
    ],
)
def test_namespaces(scope: dict[str, Any], namespace: str, *, expected: bool) -> None:
    """Namespaces are left out or picked by exact names and patterns."""
    assert expected == a_scope(**scope).matches(namespace, None, {}, POD)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"tier": "prod"}, True, id="known and matching"),
        pytest.param({"tier": "dev"}, False, id="known and different"),
        pytest.param(None, False, id="no cluster: not known"),
    ],
)
def test_namespace_selector(labels: dict[str, str] | None, *, expected: bool) -> None:
    """A namespaceSelector looks at the namespace's labels."""
    scope = a_scope(namespaceSelector={"matchLabels": {"tier": "prod"}})

    assert expected == scope.matches("shop", labels, {}, POD)


@pytest.mark.parametrize(("namespace", "expected"), [("shop", True), ("bank", False)])
def test_namespace_selector_without_cluster(namespace: str, *, expected: bool) -> None:
    """Without a cluster the label with the namespace's name is known all the same."""
    wanted = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["shop"]}
    scope = a_scope(namespaceSelector={"matchExpressions": [wanted]})

    assert expected == scope.matches(namespace, None, {}, POD)


@pytest.mark.parametrize(
    ("labels", "expected"), [({"app": "web"}, True), ({"app": "db"}, False), ({}, False)]
)
def test_object_selector(labels: dict[str, str], *, expected: bool) -> None:
    """An objectSelector looks at the object's own labels."""
    scope = a_scope(objectSelector={"matchLabels": {"app": "web"}})

    assert expected == scope.matches("shop", None, labels, POD)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        pytest.param([], True, id="no kinds: all"),
        pytest.param(["Deployment"], True, id="its owner's owner"),
        pytest.param(["Job", "Pod"], True, id="its own"),
        pytest.param(["StatefulSet"], False, id="another"),
    ],
)
def test_kinds(kinds: list[str], *, expected: bool) -> None:
    """A pod is in scope when any kind it belongs to is listed."""
    assert expected == a_scope(kinds=kinds).matches("shop", None, {}, POD)


@given(st.text("ab*-", min_size=1, max_size=8).filter(lambda text: "*" in text), st.text("ab-", max_size=12))
def test_patterns(pattern: str, name: str) -> None:
    """A star stands for any characters, none included."""
    oracle = re.fullmatch(pattern.replace("*", ".*"), name) is not None

    assert oracle == Scope(namespaces=(pattern,)).matches(name, None, {}, POD)


def test_patterns_with_many_stars() -> None:
    """A pattern full of stars is decided at once."""
    scope = Scope(namespaces=("*a" * 30 + "*b",))

    assert not scope.matches("a" * 63, None, {}, POD)


def test_a_name_that_no_object_can_have() -> None:
    """A text longer than a name may be matches no pattern, so that its length costs nothing."""
    scope = Scope(namespaces=("a*",))

    assert scope.matches("a" * SUBDOMAIN_LENGTH, None, {}, POD)
    assert not scope.matches("a" * (SUBDOMAIN_LENGTH + 1), None, {}, POD)


def test_many_patterns_are_prepared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No regular expression is compiled: that of 10,000 patterns takes seconds."""
    monkeypatch.setattr(re, "compile", _refused)
    scope = Scope(namespaces=tuple(f"team-{number}-*-x" for number in range(10_000)))

    assert scope.matches("team-9999-a-x", None, {}, POD)
    assert not scope.matches("team-9999-a", None, {}, POD)


def _refused(*_: object) -> None:
    raise AssertionError("compiled")
