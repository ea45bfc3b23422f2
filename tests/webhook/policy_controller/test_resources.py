"""The policies of a cluster by name."""

from __future__ import annotations

from tests.builders import a_policy
from webhook.policy_controller.controller import PolicyResources, policies_of

KIND = ("evenkeel.dev/v1alpha1", "SpreadPolicy")


def kept(*objects: object) -> tuple[PolicyResources, list[int]]:
    """Return the kept objects, and the number of changes that were reported."""
    changes: list[int] = []
    resources = PolicyResources(lambda: changes.append(1), has_scheduler_config=False)
    for obj in objects:
        assert isinstance(obj, dict)
        assert [] == resources.apply(obj)
    return resources, changes


def test_policies_are_ordered_by_name() -> None:
    """The order does not depend on which came first."""
    resources, changes = kept(a_policy("b"), a_policy("a"), a_policy("c"))

    assert ["a", "b", "c"] == [policy.name for policy in policies_of(resources.listed())]
    assert 3 == len(changes) == resources.count(KIND)
    assert {("", "a"), ("", "b"), ("", "c")} == resources.names(KIND)


def test_one_with_errors_is_kept_and_not_in_force() -> None:
    """It is reported, and the others are in force."""
    resources, _ = kept(a_policy("a"), a_policy("b", enforcement="x"))

    assert ["a"] == [policy.name for policy in policies_of(resources.listed())]
    assert [0, 1] == [len(entry.errors) for entry in resources.listed()]


def test_one_that_is_deleted_is_gone() -> None:
    """Twice is no mistake."""
    resources, changes = kept(a_policy("a"))
    resources.remove(*KIND, "", "a")
    resources.remove(*KIND, "", "a")

    assert [] == resources.listed()
    assert 3 == len(changes)


def test_what_has_no_name_is_passed_over() -> None:
    """Resources without a name are ignored, whatever a server sends."""
    resources, _ = kept({}, {"metadata": {"name": 3}}, {"metadata": []})

    assert [] == resources.listed()
