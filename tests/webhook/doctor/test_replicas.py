"""Replicas: whether they are ready and are reached, and which releases there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from policies.config.spread_policy import CRD_NAME
from tests.webhook.doctor.installation import (
    CORE,
    DEPLOYMENT,
    Change,
    Cluster,
    all_of,
    diagnosis,
    found,
    proxy_error,
    wording,
)

UNREADY = ("replicas-ready", "warning")
SAYS, NONE_SAYS = ("replicas-say-ready", "warning"), ("replicas-say-ready", "problem")
NO_PODS = {
    (check, "skipped")
    for check in (
        "service-port", "replicas-say-ready", "kubernetes-version", "permissions-needed",
        "permissions-excessive", "permissions-client",
    )
}  # fmt: skip
REFUSED, SILENT = proxy_error("connect: connection refused"), proxy_error("i/o timeout")


def wanted(replicas: int) -> Change:
    return lambda cluster: cluster.objects[DEPLOYMENT]["spec"].update(replicas=replicas)


def without_pods(cluster: Cluster) -> None:
    for number in (1, 2):
        del cluster.objects[f"{CORE}/pods/evenkeel-{number}"]


def unready(**status: Any) -> Change:
    """Let the second replica not be ready, and its container have a status."""

    def change(cluster: Cluster) -> None:
        cluster.pod(2)["status"]["conditions"][0]["status"] = "False"
        cluster.pod(2)["status"]["containerStatuses"][0].update(status)

    return change


def said(
    first: dict[str, Any] | None = None, second: dict[str, Any] | None = None, status: int = 200
) -> Change:
    """Let replicas say something on /readyz."""

    def change(cluster: Cluster) -> None:
        for number, body in ((1, first), (2, second)):
            if body:
                cluster.answer_replica(number, status, body)

    return change


def cluster_version(version: str, *arguments: str) -> Change:
    def change(cluster: Cluster) -> None:
        cluster.objects["/version"] = {"gitVersion": version}
        cluster.set_arguments("--live", "--cert-secret=evenkeel-tls", *arguments)

    return change


CASES = [
    pytest.param(wanted(1), {UNREADY}, id="1 wanted"),
    pytest.param(wanted(3), {UNREADY}, id="2 of 3 exist"),
    pytest.param(all_of(wanted(0), without_pods), {UNREADY, *NO_PODS}, id="scaled to 0"),
    pytest.param(
        all_of(lambda cluster: cluster.objects.pop(DEPLOYMENT), without_pods),
        {("replicas-ready", "problem"), *NO_PODS},
        id="no Deployment and no pods",
    ),
    pytest.param(lambda cluster: cluster.objects.pop(DEPLOYMENT), set(), id="pods of something else"),
    pytest.param(unready(), {UNREADY}, id="1 of 2 is not ready"),
    pytest.param(
        unready(restartCount=0, state={"waiting": {"reason": "ImagePullBackOff"}}),
        {UNREADY},
        id="1 of 2 has no image",
    ),
    pytest.param(
        said(
            second={"status": "not ready", "reasons": ["draining: the server is shutting down"]}, status=503
        ),
        {SAYS},
        id="1 of 2 says that it is not ready",
    ),
    pytest.param(
        said(
            {"status": "not ready", "reasons": ["the cluster is not listed yet: Node"]},
            {"status": "not ready", "reasons": ["the cluster is not listed yet: Node"]},
            status=503,
        ),
        {NONE_SAYS},
        id="both say that they are not ready",
    ),
    pytest.param(
        said(
            {"status": "ok", "warnings": ["the cluster cache is 181 s old", "the clock is wrong"]},
            {"status": "ok", "warnings": ["the cluster cache is 181 s old"]},
        ),
        {SAYS},
        id="both warn of a stale cache, 1 of its clock",
    ),
    pytest.param(
        said(
            {
                "status": "ok",
                "warnings": [f"CustomResourceDefinition {CRD_NAME} is not installed: only policies of files"],
            },
            {
                "status": "ok",
                "warnings": ["SpreadPolicy shop: generation 2 has errors, generation 1 stays in force: …"],
            },
        ),
        {SAYS},
        id="1 lacks the definition of policies, 1 has a policy with errors",
    ),
    pytest.param(said(REFUSED, status=503), {SAYS}, id="1 of 2 refuses: it was killed"),
    pytest.param(said(REFUSED, REFUSED, status=503), {NONE_SAYS}, id="both refuse"),
    pytest.param(said(SILENT, status=503), {SAYS}, id="1 of 2 is silent: its node"),
    pytest.param(
        said(SILENT, SILENT, status=503),
        {NONE_SAYS},
        id="both are silent: a firewall",
    ),
    pytest.param(
        all_of(unready(), said(second=REFUSED, status=503)),
        {UNREADY},
        id="1 of 2 refuses and is not ready",
    ),
    pytest.param(
        lambda cluster: setattr(cluster, "forbidden", lambda path: "/pods/https:" in path),
        {("replicas-say-ready", "skipped")},
        id="the caller may not use the proxy",
    ),
    pytest.param(
        cluster_version("v1.37.0"), {("kubernetes-version", "warning")}, id="1.37: newer than known"
    ),
    pytest.param(
        cluster_version("v1.23.0"), {("kubernetes-version", "warning")}, id="1.23: older than known"
    ),
    pytest.param(
        cluster_version("v1.36.0", "--kubernetes-version=1.34"),
        {("kubernetes-version", "warning")},
        id="replicas go by 1.34",
    ),
    pytest.param(cluster_version("v1.34.0", "--kubernetes-version=v1.34.4"), set(), id="both 1.34"),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_findings(change: Change, expected: set[tuple[str, str]]) -> None:
    """Problems are reported, and nothing else."""
    assert expected == set(found(diagnosis(change)))


def test_wording(golden: Callable[[str, str], str]) -> None:
    """Each case reads as agreed."""
    text = wording(CASES)

    assert golden("replicas.txt", text) == text
