"""Whether a cluster has an object that a selector selects."""

from __future__ import annotations

import pytest

from policies.model.labels import LabelSelector
from tests.webhook.doctor.installation import a_cluster
from webhook.kube.api_server import ApiError
from webhook.kube.list import selects_any

PODS, DEPLOYMENTS = "/api/v1/namespaces/evenkeel/pods", "/apis/apps/v1/namespaces/evenkeel/deployments"


@pytest.mark.parametrize(
    ("labels", "selected"),
    [
        pytest.param({"app.kubernetes.io/name": "evenkeel"}, True, id="of the second list"),
        pytest.param({"app": "web"}, False, id="of none"),
    ],
)
def test_lists(labels: dict[str, str], *, selected: bool) -> None:
    """One object of any list is enough."""
    selector = LabelSelector.parse({"matchLabels": labels})

    assert selected == selects_any(a_cluster(), [DEPLOYMENTS, PODS], selector)


def test_what_may_not_be_listed() -> None:
    """It is not known then."""
    cluster = a_cluster(lambda made: setattr(made, "forbidden", lambda path: path == PODS))
    with pytest.raises(ApiError):
        selects_any(cluster, [DEPLOYMENTS, PODS], LabelSelector.parse({"matchLabels": {"a": "b"}}))
