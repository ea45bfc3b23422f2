"""Observations, and those that are missing."""

from __future__ import annotations

import pytest

from tests.webhook.doctor.installation import CORE, Cluster, observations
from webhook.doctor.observations import InstallationNames, Missing, MissingError


def test_missing_values_say_why() -> None:
    """A check that needs one is skipped with the reason."""
    with pytest.raises(MissingError, match="is forbidden"):
        Missing("pods is forbidden").get()


def test_names() -> None:
    """Everything is named after the Service and its namespace."""
    names = InstallationNames(namespace="ops", service="keel")

    assert ("ops/keel", "keel.ops.svc", "ops/keel-client") == (names.service_path, names.host, names.client)


def without_pods(cluster: Cluster) -> None:
    for number in (1, 2):
        del cluster.objects[f"{CORE}/pods/evenkeel-{number}"]


def test_without_replicas() -> None:
    """Names fall back on those of the shipped manifests."""
    observed = observations(without_pods)

    assert ("evenkeel/evenkeel", "evenkeel-tls") == (observed.account, observed.secret)
    with pytest.raises(MissingError, match="no replica exists"):
        observed.pods()
