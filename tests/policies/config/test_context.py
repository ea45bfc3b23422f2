"""Which policies hold an object, by what is known of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from policies.model.version import KubernetesVersion
from policies.model.workload import Workload
from tests.builders import a_pod, a_policy, kind_of
from tests.policies.config.contexts import a_context

PRODUCTION = {"namespaceSelector": {"matchLabels": {"env": "production"}}}
BY_NAME = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}


def namespace(**labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}


@pytest.mark.parametrize(
    ("scope", "cluster", "holds"),
    [
        pytest.param({}, None, True, id="no scope: everything"),
        pytest.param(PRODUCTION, [namespace(env="production")], True, id="label of the namespace"),
        pytest.param(PRODUCTION, [namespace(env="test")], False, id="other label"),
        pytest.param(PRODUCTION, [], False, id="namespace not in the cluster"),
        pytest.param(PRODUCTION, None, False, id="no cluster: labels unknown"),
        pytest.param(BY_NAME, None, True, id="no cluster: the name's label is known"),
        pytest.param({"objectSelector": {"matchLabels": {"app": "web"}}}, None, True, id="object's label"),
        pytest.param({"objectSelector": {"matchLabels": {"app": "x"}}}, None, False, id="other object label"),
        pytest.param({"kinds": ["Deployment"]}, None, False, id="other kind"),
    ],
)
def test_scopes(scope: dict[str, Any], cluster: list[dict[str, Any]] | None, holds: bool) -> None:  # noqa: FBT001
    """A policy holds an object by its namespace, labels and kind."""
    context = a_context(a_policy(scope=scope), cluster=cluster)
    pod = Workload.read(a_pod(), kind_of("Pod"), "shop")

    assert holds == bool(context.policies_for(pod))


@pytest.mark.parametrize(("version", "strict"), [("1.24", True), ("1.36", True), ("1.37", False)])
def test_strictness_ends_with_what_is_known(version: str, strict: bool) -> None:  # noqa: FBT001
    """Fields are unknown only on releases whose fields are all known."""
    assert strict == a_context(kubernetes_version=KubernetesVersion.parse(version)).release.strict
