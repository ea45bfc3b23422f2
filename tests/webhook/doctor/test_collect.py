"""The objects of a cluster are read as far as the caller may read them and the API server answers."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.webhook.doctor.installation import (
    CORE,
    DEPLOYMENT,
    SERVICE,
    SERVING,
    Cluster,
    a_cluster,
    diagnosis,
    found,
    observations,
    proxy_error,
    readyz,
)
from webhook.doctor.collect import collect
from webhook.doctor.diagnosis import diagnose
from webhook.doctor.observations import CheckStatus, InstallationNames, Missing, Observed
from webhook.kube.api_server import ApiError, UnreachableError

CERTIFICATES = {"certificate-trusted", "certificate-names", "clocks"}
WEBHOOKS = {
    "webhooks-registered",
    "webhooks-answer",
    "policies-fail-open",
    "own-namespaces-excluded",
    "timeout-own",
    "ca-bundle",
}
PODS = {
    "service-port", "replicas-ready", "replicas-say-ready", "kubernetes-version",
    "permissions-needed", "permissions-excessive", "permissions-client",
}  # fmt: skip


def test_a_healthy_installation() -> None:
    """Everything is read, and nothing is wrong."""
    observed = observations()

    assert [] == found(diagnosis())
    assert Observed(SERVING.certificate_pem) == observed.certificate
    assert ["evenkeel-1", "evenkeel-2"] == [replica.name for replica in observed.pods()]
    assert [443] == observed.called_ports()


@pytest.mark.parametrize(
    ("forbidden", "skipped"),
    [
        pytest.param("/secrets/", CERTIFICATES, id="the Secret"),
        pytest.param(
            "mutatingwebhook", WEBHOOKS | {"certificate-trusted", "service-port", "service-answers"}, id="1"
        ),
        pytest.param("/namespaces/kube-system", {"own-namespaces-excluded"}, id="kube-system"),
        pytest.param("/api/v1/namespaces$", {"webhooks-registered"}, id="all namespaces"),
        pytest.param(
            "/services/evenkeel",
            PODS | {"service-answers", "service-selector", "api-answers"},
            id="the Service",
        ),
        pytest.param(
            "subjectaccessreviews", {check for check in PODS if "permissions" in check}, id="reviews"
        ),
        pytest.param("/version", {"kubernetes-version"}, id="the version"),
        pytest.param("/deployments/", {"replicas-ready", "service-selector"}, id="the Deployment"),
        pytest.param("/namespaces/shop/deployments", {"webhooks-answer"}, id="a dry run"),
        pytest.param("/namespaces/evenkeel/pods", PODS, id="the replicas"),
        pytest.param("/api/v1/pods", {"injected-in-part"}, id="pods of the cluster"),
    ],
)
def test_what_is_forbidden_is_skipped(forbidden: str, skipped: set[str]) -> None:
    """A right that is lacking costs the checks that need it, and no other."""
    results = found(
        diagnosis(lambda cluster: setattr(cluster, "forbidden", lambda path: forbidden in f"{path}$"))
    )

    assert {(check, "skipped") for check in skipped} == set(results)


def test_a_caller_who_may_nothing() -> None:
    """Every check is skipped with the API server's reason, and none fails."""
    results = diagnosis(lambda cluster: setattr(cluster, "forbidden", lambda _path: True)).results

    assert {CheckStatus.SKIPPED} == {result.status for result in results}
    assert all('is forbidden: User "jane" cannot' in result.evidence for result in results)


def test_an_etcd_that_hangs() -> None:
    """The API server answers with its version only: it gets one more request, and every check says why."""
    cluster = a_cluster()
    cluster.hangs = lambda path: path != "/version"
    observed = collect(cluster, InstallationNames(), now=cluster.now, tool_version="0.1.0")
    results = diagnose(observed, cluster.url).results

    assert ["/version", SERVICE] == cluster.requested
    assert {CheckStatus.SKIPPED} == {result.status for result in results}
    assert {
        "https://cluster:6443: no answer within 5 s; it has answered before, so it or its etcd hangs"
    } == {result.evidence for result in results}


def test_an_api_server_that_hangs() -> None:
    """There is nothing to report."""
    cluster = a_cluster()
    cluster.hangs = lambda _path: True

    with pytest.raises(UnreachableError, match="no answer within 5 s"):
        collect(cluster, InstallationNames(), now=cluster.now, tool_version="0.1.0")


def test_credentials_that_are_not_accepted() -> None:
    """There is nothing to report."""
    cluster = a_cluster()
    cluster.answers["/version"] = (
        401,
        {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"},
    )

    with pytest.raises(ApiError, match="Unauthorized"):
        collect(cluster, InstallationNames(), now=cluster.now, tool_version="0.1.0")


def test_errors_of_the_api_server() -> None:
    """An object that cannot be read is skipped with the API server's message."""
    broken = (500, {"kind": "Status", "message": "etcd is slow"})
    observed = observations(lambda cluster: cluster.answers.update({SERVICE: broken}))

    assert Missing(f"cannot read {SERVICE}: etcd is slow") == observed.service


class Dying(Cluster):
    """The pod of a replica is listed as it was, and from the second time on as it is."""

    now_pod: dict[str, Any] | None = None

    def send(self, method: str, path: str, **options: Any) -> Any:
        """Answer, and let the kubelet notice after the first list."""
        answer = super().send(method, path, **options)
        if path == f"{CORE}/pods":
            self.objects.pop(f"{CORE}/pods/evenkeel-1", None)
            if self.now_pod:
                self.objects[f"{CORE}/pods/evenkeel-1"] = self.now_pod
        return answer


def dying(**status: Any) -> Dying:
    """Return a cluster whose first replica has just been killed."""
    cluster = Dying()
    cluster.__dict__.update(a_cluster().__dict__)
    cluster.answer_replica(1, 503, proxy_error("connect: connection refused"))
    if status:
        cluster.now_pod = copy.deepcopy(cluster.pod(1))
        cluster.now_pod["status"] = status
    return cluster


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        pytest.param(
            dying(
                conditions=[{"type": "Ready", "status": "False"}],
                containerStatuses=[
                    {"name": "evenkeel", "lastState": {"terminated": {"reason": "Error", "exitCode": 137}}}
                ],
            ),
            ["evenkeel-1 is not ready: exit code 137"],
            id="its container ended",
        ),
        pytest.param(dying(), ["1 of 2 replicas exist"], id="its pod is gone"),
    ],
)
def test_a_replica_that_was_killed_meanwhile(cluster: Dying, expected: list[str]) -> None:
    """A replica that does not answer is reported by what its pod says now, never as a firewall."""
    observed = collect(cluster, InstallationNames(), now=cluster.now, tool_version="0.1.0")
    results = diagnose(observed, cluster.url).results

    assert expected == [result.evidence for result in results if result.status is not CheckStatus.OK]


def test_without_a_service() -> None:
    """The labels of the Deployment lead to the pods."""
    observed = observations(lambda cluster: cluster.objects.pop(SERVICE))

    assert 2 == len(observed.pods())


def test_pods_of_others() -> None:
    """Pods that the Service does not select, or that are terminating, are no replicas."""

    def change(cluster: Cluster) -> None:
        cluster.pod(1)["metadata"]["labels"] = {"app": "web"}
        cluster.pod(2)["metadata"]["deletionTimestamp"] = "now"

    assert Observed(()) == observations(change).replicas


def test_other_names() -> None:
    """An installation of other names is not mistaken for this one."""
    cluster = a_cluster()
    names = InstallationNames(namespace="ops", service="keel", webhooks="keel")
    observed = collect(cluster, names, now=cluster.now, tool_version="0.1.0")

    assert (Observed(None), Observed(None)) == (observed.service, observed.deployment)
    assert ("keel-tls", "ops/keel") == (observed.secret, observed.account)
    assert [("installed", "problem")] == found(diagnose(observed, cluster.url))


def test_the_private_key_is_not_kept() -> None:
    """Of the Secret only the certificate is observed."""

    def change(cluster: Cluster) -> None:
        cluster.objects[f"{CORE}/secrets/evenkeel-tls"]["data"]["tls.key"] = "UFJJVkFURQ=="

    assert "PRIVATE" not in repr(observations(change))
    assert "UFJJVkFURQ" not in repr(observations(change))


def test_requests_are_reads() -> None:
    """Nothing is written: only reviews are posted, and a dry run."""
    cluster = a_cluster()
    collect(cluster, InstallationNames(), now=cluster.now, tool_version="0.1.0")

    assert readyz(1) in cluster.requested
    assert DEPLOYMENT in cluster.requested
    assert cluster.posted == {
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "/apis/apps/v1/namespaces/shop/deployments",
    }
