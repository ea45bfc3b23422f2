"""Reading a cluster's objects: broken ones are named and left out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policies.model.snapshot import Namespace, take_snapshot


def test_broken_objects_are_named_and_left_out() -> None:
    """A broken object costs itself alone, and its line names it and the field."""
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": "shop", "name": "bad"},
            "spec": {"selector": [1]},
        },
        {"apiVersion": "v1", "kind": "Service", "metadata": "?", "spec": {"selector": {"a b": "c"}}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": 7},
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "shop", "labels": {"env": "prod"}, "annotations": None},
        },
    ]

    snapshot, problems = take_snapshot(objects)

    assert {"shop": Namespace({"env": "prod"}, {})} == snapshot.namespaces
    assert {} == snapshot.services
    assert problems[0] == "Service shop/bad left out: spec.selector: must be an object, got a list"
    assert problems[1].startswith("Service /(no name) left out: metadata: must be an object")


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)


@given(selectors=st.lists(labels, max_size=6), pod=labels)
def test_services_are_found_as_a_plain_loop_finds_them(
    selectors: list[dict[str, str]], pod: dict[str, str]
) -> None:
    """The index gives what trying every service of the namespace gives."""
    snapshot, _ = take_snapshot(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": "shop", "name": f"s{number}"},
            "spec": {"selector": selector},
        }
        for number, selector in enumerate(selectors)
    )
    expected = [selector for selector in selectors if selector and selector.items() <= pod.items()]
    found = snapshot.service_selectors("shop", pod)

    assert sorted(map(sorted, expected)) == sorted(map(sorted, found))
