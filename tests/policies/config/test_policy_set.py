"""The index finds exactly the policies whose scope matches, in order."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.config import policy_set
from policies.config.policy_set import PolicySet
from policies.config.spread_policy import SpreadPolicy
from tests.policies.config.documents import policy_of

POD = frozenset({"Pod"})
NAMES = ["a", "b", "team-a"]
VALUES = ["x", "y"]
EXPRESSION = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["env", "kubernetes.io/metadata.name"]),
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from([*VALUES, "a"]), min_size=1, max_size=2),
        }
    ),
    st.fixed_dictionaries({"key": st.just("env"), "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
SELECTOR = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.just("env"), st.sampled_from(VALUES)),
        "matchExpressions": st.lists(EXPRESSION, max_size=2),
    },
)
SCOPE = st.fixed_dictionaries(
    {},
    optional={
        "namespaces": st.lists(st.sampled_from([*NAMES, "team-*"]), max_size=2),
        "excludeNamespaces": st.lists(st.sampled_from([*NAMES, "team-*"]), max_size=1),
        "namespaceSelector": SELECTOR,
        "objectSelector": SELECTOR,
        "kinds": st.lists(st.sampled_from(["Pod", "Deployment"]), max_size=1),
    },
)
LABELS = st.one_of(st.none(), st.dictionaries(st.just("env"), st.sampled_from(VALUES)))


def scoped(**scope: Any) -> SpreadPolicy:
    return policy_of(scope=scope)


@given(st.lists(SCOPE, max_size=6), st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=3))
def test_the_index_agrees_with_each_scope(scopes: list[Any], labels: list[tuple[Any, Any]]) -> None:
    """Earlier lookups of namespaces, and the labels that these had then, do not change the result."""
    policies = PolicySet(scoped(**scope) for scope in scopes)
    for name, kinds, (of_namespace, of_object) in product(NAMES, [POD, POD | {"Deployment"}], labels):
        own = of_object or {}
        expected = [policy for policy in policies if policy.scope.matches(name, of_namespace, own, kinds)]

        assert expected == policies.selecting(name, of_namespace, own, kinds)


@pytest.mark.parametrize(
    ("before", "after", "selected"),
    [
        pytest.param({"env": "x"}, {"env": "x"}, 1, id="the same labels of another object"),
        pytest.param({"env": "x"}, {"env": "y"}, 0, id="another value"),
        pytest.param({"env": "y"}, {"env": "x"}, 1, id="the right value now"),
        pytest.param({"env": "x"}, None, 0, id="the cluster is withheld"),
    ],
)
def test_labels_of_a_namespace_change(
    before: dict[str, str], after: dict[str, str] | None, selected: int
) -> None:
    """The policies found with the labels before are not those found now."""
    policies = PolicySet([scoped(namespaceSelector={"matchLabels": {"env": "x"}})])
    policies.selecting("shop", before, {}, POD)

    assert selected == len(policies.selecting("shop", after, {}, POD))


def test_what_is_returned_is_the_callers() -> None:
    """Who changes the list changes nothing for others."""
    policies = PolicySet([scoped()])
    policies.selecting("shop", None, {}, POD).clear()

    assert 1 == len(policies.selecting("shop", None, {}, POD))


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of namespaces is asked for."""
    monkeypatch.setattr(policy_set, "MAX_KEPT", 5)
    policies = PolicySet([scoped(), scoped(kinds=["Pod"])])
    for number in range(20):
        assert 2 == len(policies.selecting(f"ns-{number}", None, {}, POD))

    assert 5 >= len(policies._index._kept) + 2 * len(policies._index._shared)


def test_a_set_is_a_tuple_of_policies() -> None:
    """It has their order, and equals another of the same."""
    first, second = scoped(), scoped(kinds=["Pod"])

    assert (first, second) == PolicySet([first, second])
    assert PolicySet([first, second]) != PolicySet([second, first])
