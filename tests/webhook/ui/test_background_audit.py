"""The audit of the page: piece by piece, and sent as far as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planning.audit.audit import audit
from policies.manifests.wire import dumps
from tests.builders import a_constraint, a_workload
from tests.waiting import eventually
from tests.webhook.ui.pages import a_cluster, a_page_cluster
from webhook.fork_server import ForkServer
from webhook.ui import background_audit
from webhook.ui.background_audit import BackgroundAudit
from webhook.ui.cluster import PageCluster


def _finished(cluster: PageCluster) -> BackgroundAudit:
    server = ForkServer("webhook.ui.routes:prepare_answers")
    server.hand_over(lambda: cluster)
    found = BackgroundAudit(cluster, server)
    found.start()
    eventually(lambda: found.progress(10**6).done)
    found.end()
    server.end()
    return found


def failing_piece(_cluster: PageCluster, *, piece: slice) -> list[bytes]:
    """Fail, in a child."""
    raise ZeroDivisionError(piece)


def _sent(background: BackgroundAudit, after: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dumps(background.progress(after)))
    return found


def test_all_of_it() -> None:
    """A workload is what it is known by, and has its position in the map."""
    found = _sent(_finished(a_page_cluster()), 0)

    assert found["done"]
    assert [("Deployment", "web", 0, 1)] == [
        (each["kind"], each["name"], each["workload"], each["pending"]) for each in found["workloads"]
    ]


def test_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads that were sent are not sent again; the last answer is marked as the last."""
    monkeypatch.setattr(background_audit, "PIECE", 2)
    monkeypatch.setattr(background_audit, "MOST_SENT", 3)
    workloads = [a_workload("StatefulSet", name=f"db-{number}") for number in range(5)]
    background = _finished(a_page_cluster(*a_cluster()[:3], *workloads))
    first = _sent(background, 0)
    second = _sent(background, first["next"])

    assert (False, True) == (first["done"], second["done"])
    assert [f"db-{number}" for number in range(5)] == [
        each["name"] for part in (first, second) for each in part["workloads"]
    ]
    assert {"next": 99, "workloads": []}.items() <= _sent(background, 99).items()


def test_rank() -> None:
    """The rank sorts as the command's report does."""
    invalid = a_workload("StatefulSet", name="a-invalid", spec={"topologySpreadConstraints": [{}]})
    inert = a_constraint(labelSelector=None)
    others = [a_workload("StatefulSet", name="b-inert", spec={"topologySpreadConstraints": [inert]}), invalid]
    cluster = a_page_cluster(*a_cluster(), *others)
    found = _sent(_finished(cluster), 0)["workloads"]
    audits = [audit(each, cluster.context) for each in cluster.objects.workloads.each() if each is not None]

    assert [each.name for each in sorted(audits, key=lambda each: each.rank)] == [
        each["name"] for each in sorted(found, key=lambda each: each["rank"])
    ]


def test_an_audit_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads audited until then are kept, and the error is reported."""
    monkeypatch.setattr(background_audit, "audit_piece", failing_piece)
    found = _sent(_finished(a_page_cluster()), 0)

    assert found["done"]
    assert "ZeroDivisionError" in found["error"]
