"""The API server's merge of matchLabelKeys into the selector, and the trap it sets."""

from __future__ import annotations

from typing import Any

import pytest

from policies.manifests.fields import FieldPath
from policies.model.api_rules import ApiRule
from policies.model.constraint import Merge, repeated_match_label_keys
from policies.model.validation import constraint_errors
from tests.builders import a_constraint

PATH = FieldPath(("spec", "topologySpreadConstraints"))


def test_1_34_merged_pod_passes() -> None:
    """The 1.34 merge trap: a pod whose selector holds the expression that the API server merged in passes.

    The same expression in a file, in a template or before the merge was written by hand, and is a conflict.
    """
    merged = a_constraint(
        labelSelector={
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "pod-template-hash", "operator": "In", "values": ["5dcb984f75"]}],
        },
        matchLabelKeys=["pod-template-hash"],
    )
    labels = {"app": "web", "pod-template-hash": "5dcb984f75"}

    assert constraint_errors([merged], PATH, labels=labels, merge=Merge.CREATED) == []
    assert constraint_errors([merged], PATH, labels=labels, merge=Merge.FROZEN) == []
    assert [error.rule for error in constraint_errors([merged], PATH, labels=labels, merge=Merge.BEFORE)] == [
        ApiRule.MATCH_LABEL_KEY_IN_SELECTOR
    ]


HASH = {"key": "hash", "operator": "In", "values": ["a"]}


@pytest.mark.parametrize(
    ("selector", "keys", "labels", "merge", "conflicts"),
    [
        pytest.param(
            {"matchExpressions": [HASH]}, ["hash"], {"hash": "a"}, Merge.CREATED, [], id="merged once"
        ),
        pytest.param(
            {"matchExpressions": [HASH, HASH]},
            ["hash"],
            {"hash": "a"},
            Merge.CREATED,
            [0],
            id="merged into its like",
        ),
        pytest.param(
            {"matchLabels": {"hash": "a"}, "matchExpressions": [HASH]},
            ["x", "hash"],
            {"hash": "a"},
            Merge.CREATED,
            [1],
            id="merged besides matchLabels: reported at position 1",
        ),
        pytest.param(
            {"matchExpressions": [HASH]}, ["hash"], {"hash": "b"}, Merge.CREATED, [0], id="other value"
        ),
        pytest.param(
            {"matchExpressions": [HASH]}, ["hash"], {"hash": "b"}, Merge.FROZEN, [], id="label changed since"
        ),
        pytest.param({"matchExpressions": [HASH]}, ["hash"], {}, Merge.FROZEN, [], id="label removed since"),
        pytest.param(
            {"matchLabels": {"hash": "a"}},
            ["hash"],
            {},
            Merge.BEFORE,
            [0],
            id="in both, pod without the label",
        ),
        pytest.param({}, ["hash"], {"hash": "a"}, Merge.BEFORE, [], id="empty selector takes keys"),
        pytest.param(
            {}, ["hash", "hash"], {"hash": "a"}, Merge.BEFORE, [1], id="listed twice, label carried"
        ),
        pytest.param({}, ["hash", "hash"], {}, Merge.BEFORE, [], id="listed twice, label not carried"),
    ],
)
def test_merge_conflicts(
    selector: dict[str, Any], keys: list[str], labels: dict[str, str], merge: Merge, conflicts: list[int]
) -> None:
    """A key conflicts where the selector names it besides the one expression that the API server appends."""
    constraint = a_constraint(labelSelector=selector, matchLabelKeys=keys)

    errors = constraint_errors([constraint], PATH, labels=labels, merge=merge)

    assert [str(PATH.index(0).child("matchLabelKeys").index(at)) for at in conflicts] == [
        str(error.path) for error in errors
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            [a_constraint(matchLabelKeys=["a", "b", "a", "a"])],
            [("[0].matchLabelKeys[2]", "a"), ("[0].matchLabelKeys[3]", "a")],
        ),
        ([a_constraint(), a_constraint(matchLabelKeys=["a", "b"])], []),
        ([a_constraint(matchLabelKeys=[1, 1, [], []])], []),
        ("x", []),
        ([None, 7, {"matchLabelKeys": "aa"}], []),
    ],
    ids=["a three times", "none", "no strings", "no list", "rubbish"],
)
def test_repeated_keys(raw: object, expected: list[tuple[str, str]]) -> None:
    """Each repetition of a key is found with its path; rubbish is passed over."""
    assert [(f"{PATH}{at}", key) for at, key in expected] == [
        (str(path), key) for path, key in repeated_match_label_keys(raw, PATH)
    ]
