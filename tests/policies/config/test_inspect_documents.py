"""Documents of any kind, reported and not raised."""

from __future__ import annotations

from typing import Any

import pytest

from policies.config.policy_advice import inspect, is_known
from policies.manifests.findings import Severity
from tests.builders import a_policy
from tests.policies.config.documents import SOFT, loaded

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (a_policy(), True),
        (CONFIG, True),
        ({"kind": "Pod"}, False),
        ({"kind": []}, False),
        ([], False),
        (3, False),
    ],
)
def test_is_known(value: Any, *, expected: bool) -> None:
    """The kind decides who reads a document."""
    assert expected is is_known(loaded(value))


def test_errors_have_places_and_rules() -> None:
    """Errors of both kinds come as findings."""
    policy = a_policy(enforcement="x")
    config = {**CONFIG, "profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}
    found = inspect([loaded(policy, "p.json"), loaded(config, "c.json")])

    assert [
        ("c.json:9", "profiles[1].schedulerName", "scheduler-profile-name-invalid"),
        ("p.json:8", "spec.enforcement", "value-invalid"),
    ] == [(str(finding.location), str(finding.path), finding.rule) for finding in found]
    assert {Severity.ERROR} == {finding.severity for finding in found}


def test_repeated_names_over_files() -> None:
    """The second policy of a name is an error that says where the first is."""
    found = inspect([loaded(a_policy("x"), "a.json"), loaded(a_policy("x"), "b.json")])

    assert [("b.json", "policy-name-repeated")] == [
        (finding.location.file, finding.rule) for finding in found
    ]
    assert "a.json:5" in found[0].message


def test_configuration_beside_the_policy() -> None:
    """A configuration among the documents is the one that the policies meet."""
    profile = {"pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}]}
    policy = loaded(a_policy(defaults={"constraints": [SOFT]}))
    config = loaded({**CONFIG, "profiles": [profile]}, "c.json")

    alone, together = inspect([policy], has_cluster=True), inspect([policy, config], has_cluster=True)

    assert (["scheduler-defaults-off"], ["no-scheduler-defaults"]) == (
        [finding.rule for finding in alone],
        [finding.rule for finding in together],
    )
