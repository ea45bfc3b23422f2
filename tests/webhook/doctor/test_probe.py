"""A dry run that shows whether the webhooks are asked."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.webhook.doctor.installation import (
    CONFIGURATIONS,
    MUTATING,
    VALIDATING,
    Change,
    Cluster,
    all_of,
    excluding,
    observations,
)
from webhook.doctor.observations import DryRunAnswer, Missing, Observed
from webhook.registration import OPERATIONS


def with_namespaces(names: Iterable[str]) -> Change:
    def change(cluster: Cluster) -> None:
        for name in names:
            metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
            cluster.objects[f"/api/v1/namespaces/{name}"] = {"metadata": metadata}

    return change


def selecting(**fields: object) -> Change:
    return lambda cluster: cluster.set_webhooks(**fields)


def hidden(cluster: Cluster) -> None:
    cluster.forbidden = lambda path: path == "/api/v1/namespaces"


@pytest.mark.parametrize(
    ("change", "namespace"),
    [
        pytest.param(with_namespaces([]), "shop", id="the only one that is looked at"),
        pytest.param(with_namespaces(["a", "default"]), "default", id="the usual one"),
        pytest.param(
            all_of(with_namespaces(["kube-public"]), selecting(namespaceSelector={})),
            "shop",
            id="none of Kubernetes",
        ),
        pytest.param(
            all_of(with_namespaces(["default"]), selecting(namespaceSelector=excluding("default", "shop"))),
            "evenkeel",
            id="no other",
        ),
        pytest.param(hidden, "default", id="none can be listed"),
    ],
)
def test_where(change: Change, namespace: str) -> None:
    """It is tried where both webhooks look."""
    probe = observations(change).probe

    assert isinstance(probe, Observed)
    assert DryRunAnswer(namespace, frozenset(OPERATIONS), "") == probe.value


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda cluster: [
                cluster.webhook(kind).update(objectSelector={"matchLabels": {"a": kind}})
                for kind in (MUTATING, VALIDATING)
            ],
            id="no labels are selected by both",
        ),
        pytest.param(
            lambda cluster: [cluster.objects.pop(path) for path in CONFIGURATIONS.values()], id="none"
        ),
        pytest.param(
            lambda cluster: setattr(
                cluster,
                "answers",
                {"/apis/apps/v1/namespaces/shop/deployments": (403, 'is forbidden: User "jane"')},
            ),
            id="no right",
        ),
    ],
)
def test_nothing_is_known(change: Change) -> None:
    """A check that cannot be made is skipped."""
    assert isinstance(observations(change).probe, Missing)
