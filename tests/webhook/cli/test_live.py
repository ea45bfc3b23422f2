"""Which live cluster commands mean, and how they show that it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policies.manifests.errors import UsageError
from tests.webhook.loopback import write_kubeconfig
from webhook.cli.live import api_server, check_cluster, list_objects
from webhook.kube.api_server import ApiError


@pytest.mark.parametrize(
    ("live", "context", "cluster"),
    [
        pytest.param(False, "", None, id="none"),
        pytest.param(False, "", "c.json", id="a file"),
        pytest.param(True, "", "", id="the live one"),
        pytest.param(True, "production", None, id="a live one by name"),
    ],
)
def test_one_cluster(*, live: bool, context: str, cluster: str | None) -> None:
    """A file, a live cluster, or neither is what a command may be given."""
    check_cluster(live=live, context=context, cluster=cluster)


@pytest.mark.parametrize(
    ("live", "context", "cluster", "problem"),
    [
        pytest.param(True, "", "c.json", "--live and --cluster", id="two clusters"),
        pytest.param(False, "production", None, "--context may only", id="a context of nothing"),
        pytest.param(False, "production", "c.json", "--context may only", id="of a file"),
    ],
)
def test_two_clusters(*, live: bool, context: str, cluster: str | None, problem: str) -> None:
    """Whoever names two clusters, or half of one, is told."""
    with pytest.raises(UsageError, match=problem):
        check_cluster(live=live, context=context, cluster=cluster)


def test_a_cluster_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that asks again gets the same way, so that no credential plugin runs twice."""
    monkeypatch.setenv("KUBECONFIG", write_kubeconfig(tmp_path, "http://127.0.0.1:9"))

    assert api_server("k") is api_server("k")
    assert "http://127.0.0.1:9" == api_server("k").url


class _Autoscalers:
    """An API server with one autoscaler in a namespace; others may not be read."""

    def call(self, method: str, path: str) -> dict[str, Any]:
        """Answer a list."""
        assert ("GET", True) == (method, path.startswith("/apis/autoscaling/v2/namespaces/"))
        if "/shop/" not in path:
            raise ApiError(403, "not allowed")
        return {"items": [{"metadata": {"name": "web"}}]}


def test_lists_of_a_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects of a list have their kind; what may not be read is left out, and that is reported."""
    monkeypatch.setattr("webhook.cli.live.api_server", lambda _context: _Autoscalers())
    notes: list[str] = []
    shop, other = (
        list_objects("", "autoscaling/v2", "HorizontalPodAutoscaler", namespace, notes.append)
        for namespace in ("shop", "other")
    )

    assert [("HorizontalPodAutoscaler", "web")] == [(each["kind"], each["metadata"]["name"]) for each in shop]
    assert ([], 1) == (other, len(notes))
