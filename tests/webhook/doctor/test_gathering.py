"""An API server's objects as facts, as far as the caller may read them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.certs.builders import NOW
from tests.webhook.doctor.installation import (
    EXCLUDING,
    LABELS,
    NAMES,
    SERVING,
    Cluster,
    a_cluster,
    serving,
)
from tests.webhook.loopback import write_kubeconfig
from webhook.doctor import deadline
from webhook.doctor.diagnosis import diagnose
from webhook.doctor.facts import (
    Endpoints,
    Facts,
    Injection,
    Known,
    Names,
    Place,
    Resource,
    Unknown,
    Workload,
)
from webhook.doctor.finding import Status
from webhook.doctor.gathering import gather
from webhook.kube.api_server import ApiError, UnreachableError
from webhook.kube.client import connect

HOME = "/api/v1/namespaces/evenkeel"


def gathered(folder: Path, cluster: Cluster, names: Names = NAMES) -> Facts:
    with serving(cluster) as url:
        api = connect(kubeconfig=write_kubeconfig(folder, url))
        return gather(api, names, now=NOW, tool_version="0.1.0")


def test_a_healthy_installation(tmp_path: Path) -> None:
    """Every check is asked and finds nothing."""
    facts = gathered(tmp_path, a_cluster())
    findings = diagnose(facts, "https://c").findings

    assert [] == [finding for finding in findings if finding.verdict.status is not Status.OK]
    assert Known(SERVING.certificate_pem) == facts.certificate
    assert Known(Endpoints(2, 0)) == facts.endpoints
    assert Known(Workload(name="evenkeel", replicas=2, labels=LABELS)) == facts.workload
    assert Known((Place("node-1", "1"), Place("node-2", "2"))) == facts.places
    assert {Resource("", "pods"): {"v1"}, Resource("apps", "deployments"): {"v1"}} == facts.served.get()
    assert {EXCLUDING} == {webhook.namespace_selector for webhook in facts.webhooks()}


def test_an_empty_cluster(tmp_path: Path) -> None:
    """Nothing is installed, and nothing fails."""
    cluster = Cluster()
    cluster.objects["/version"] = {"gitVersion": "v1.36.2"}
    for path in (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "/apis/apps/v1/namespaces/evenkeel/deployments",
        "/api/v1/namespaces",
        "/api/v1/nodes",
        "/api/v1/pods",
    ):
        cluster.empty(path)
    (finding,) = diagnose(gathered(tmp_path, cluster), "https://c").findings

    assert "installed" == finding.check


def test_a_wrong_clock_of_this_machine(tmp_path: Path) -> None:
    """Certificates are judged by the API server's clock, and whose differs is told."""
    with serving(a_cluster()) as url:
        api = connect(kubeconfig=write_kubeconfig(tmp_path, url))
        facts = gather(api, NAMES, now=NOW + timedelta(days=4000), tool_version="0.1.0")
    (warning,) = [
        finding
        for finding in diagnose(facts, "https://c").findings
        if finding.verdict.status is not Status.OK
    ]

    assert ("clocks", True) == (warning.check, "days ahead" in warning.verdict.evidence)


def test_an_api_server_whose_etcd_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells its version, and nothing more: one request is waited for, and every check says why."""
    monkeypatch.setattr(deadline, "EACH_S", 1.0)
    cluster = a_cluster()
    cluster.hangs = lambda path: path != "/version"
    findings = diagnose(gathered(tmp_path, cluster), "https://c").findings

    assert 2 == len(cluster.asked)
    assert {Status.SKIPPED} == {finding.verdict.status for finding in findings}
    assert all("etcd hangs" in finding.verdict.evidence for finding in findings)


def test_a_replica_that_ended_meanwhile(tmp_path: Path) -> None:
    """Whoever does not answer is looked at again, and told by what its pod says now."""
    cluster = a_cluster()
    pod = cluster.objects[f"{HOME}/pods/evenkeel-1"]
    cluster.objects[f"{HOME}/pods/https:evenkeel-1:8443/proxy/readyz"] = {
        "status_code": 503, "kind": "Status", "message": "dial tcp 10.0.0.1: connection refused",
    }  # fmt: skip
    now = copy.deepcopy(pod)
    now["status"]["conditions"][0]["status"] = "False"
    now["status"]["containerStatuses"][0] |= {
        "restartCount": 2,
        "lastState": {"terminated": {"reason": "Error", "exitCode": 137}},
    }
    cluster.objects[f"{HOME}/pods/evenkeel-1"] = now
    told = [
        finding.verdict.evidence
        for finding in diagnose(gathered(tmp_path, cluster), "https://c").findings
        if finding.verdict.status in (Status.PROBLEM, Status.WARNING)
    ]

    assert ["evenkeel-1 is not ready: Error, exit code 137"] == told


def test_a_service_that_leads_astray(tmp_path: Path) -> None:
    """A wrong targetPort shows in the Service, and as silence through it."""
    cluster = a_cluster()
    cluster.objects[f"{HOME}/services/evenkeel"]["spec"]["ports"][0]["targetPort"] = 9443
    cluster.objects[f"{HOME}/services/https:evenkeel:443/proxy/readyz"] = {
        "status_code": 503, "kind": "Status", "message": "dial tcp 10.0.0.1: connection refused",
    }  # fmt: skip
    found = {
        finding.check: finding.verdict.status
        for finding in diagnose(gathered(tmp_path, cluster), "https://c").findings
        if finding.verdict.status is not Status.OK
    }

    assert {"service-port": Status.PROBLEM, "service-answers": Status.PROBLEM} == found


def test_a_service_without_pods(tmp_path: Path) -> None:
    """What is a name of DNS has no targetPort."""
    cluster = a_cluster()
    cluster.objects[f"{HOME}/services/evenkeel"]["spec"] = {"type": "ExternalName", "selector": LABELS}
    facts = gathered(tmp_path, cluster)

    assert isinstance(facts.service_ports, Unknown)
    assert facts.service_ports == facts.through_service


def nobody(_method: str, _path: str) -> bool:
    return True


def test_a_caller_who_may_nothing(tmp_path: Path) -> None:
    """Every check says what the caller may not."""
    cluster = a_cluster()
    cluster.forbidden = nobody
    findings = diagnose(gathered(tmp_path, cluster), "https://c").findings

    assert {Status.SKIPPED} == {finding.verdict.status for finding in findings}
    assert all("may not " in finding.verdict.evidence for finding in findings)


@pytest.mark.parametrize(
    ("forbidden", "skipped"),
    [
        pytest.param(
            "/secrets/", {"certificate-trusted", "certificate-names", "certificate-loaded"}, id="Secret"
        ),
        pytest.param("/nodes", {"replicas-apart"}, id="nodes"),
        pytest.param("/poddisruptionbudgets", {"disruption-budget"}, id="budgets"),
        pytest.param(
            "subjectaccessreviews",
            {"permissions-needed", "permissions-excessive", "permissions-client"},
            id="reviews",
        ),
        pytest.param("/version", {"kubernetes-version"}, id="version"),
        pytest.param("/deployments", {"replicas-ready"}, id="deployments"),
        pytest.param("/apis/apps/v1", {"rules-cover-kinds", "replicas-ready"}, id="discovery"),
        pytest.param("/api/v1/pods", set(), id="pods of the cluster: namespace by namespace"),
    ],
)
def test_what_is_forbidden_is_skipped(tmp_path: Path, forbidden: str, skipped: set[str]) -> None:
    """One right that is lacking costs the checks that need it, and no other."""
    cluster = a_cluster()
    for name in ("kube-system", "shop"):
        cluster.empty(f"/api/v1/namespaces/{name}/pods")
    cluster.forbidden = lambda _method, path: forbidden in path
    findings = diagnose(gathered(tmp_path, cluster), "https://c").findings

    assert skipped == {finding.check for finding in findings if finding.verdict.status is Status.SKIPPED}


def only_get(*lists: str) -> Callable[[str, str], bool]:
    """Forbid lists, and the pods of the cluster."""
    return lambda _method, path: path.endswith((*lists, "/api/v1/pods"))


def test_objects_by_their_names(tmp_path: Path) -> None:
    """Who may not list finds our own objects by their names."""
    cluster = a_cluster()
    cluster.forbidden = only_get("webhookconfigurations", "/namespaces")
    cluster.empty("/api/v1/namespaces/default/pods")
    facts = gathered(tmp_path, cluster)

    assert 2 == len(facts.webhooks())
    assert Unknown("may not list webhook configurations") == facts.others
    assert ["kube-system", "evenkeel"] == [namespace.name for namespace in facts.protected.get()]
    assert Known(Injection((), 0, "only namespace default could be looked at")) == facts.injection


def test_pods_of_no_namespace(tmp_path: Path) -> None:
    """Who may list no pods anywhere is told of the cluster."""
    cluster = a_cluster()
    cluster.forbidden = only_get("/pods")

    assert Unknown("may not list pods") == gathered(tmp_path, cluster).injection


def test_kubernetes_1_20(tmp_path: Path) -> None:
    """Before 1.21 there are Endpoints and budgets of v1beta1."""
    cluster = a_cluster()
    for path in list(cluster.objects):
        if path.startswith(("/apis/discovery.k8s.io", "/apis/policy/v1")):
            del cluster.objects[path]
    cluster.put(f"{HOME}/endpoints/evenkeel", subsets=[{"addresses": [{}]}])
    cluster.empty("/apis/policy/v1beta1/namespaces/evenkeel/poddisruptionbudgets")
    facts = gathered(tmp_path, cluster)

    assert Known(Endpoints(1, 0)) == facts.endpoints
    assert Known(()) == facts.budgets


def test_without_a_service(tmp_path: Path) -> None:
    """The Deployment of the name leads to the pods."""
    cluster = a_cluster()
    del cluster.objects[f"{HOME}/services/evenkeel"]
    facts = gathered(tmp_path, cluster)

    assert Known(value=False) == facts.service
    assert 2 == len(facts.pods())


def test_other_names(tmp_path: Path) -> None:
    """Nothing of an installation is mistaken for another."""
    cluster = a_cluster()
    cluster.empty("/apis/apps/v1/namespaces/ops/deployments")
    facts = gathered(tmp_path, cluster, Names(namespace="ops", service="keel", webhooks="keel"))

    assert (Known(()), Known(value=False)) == (facts.ours, facts.service)
    assert "keel-tls" == facts.secret
    assert 2 == len(facts.others.get())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"tls.crt": "x"}, Known(b""), id="no base64"),
        pytest.param({}, Known(None), id="no certificate"),
        pytest.param(None, Known(None), id="no data"),
    ],
)
def test_secrets(tmp_path: Path, data: dict[str, str] | None, expected: Known[bytes | None]) -> None:
    """A Secret may hold anything."""
    cluster = a_cluster()
    cluster.objects[f"{HOME}/secrets/evenkeel-tls"]["data"] = data

    assert expected == gathered(tmp_path, cluster).certificate


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(["--live"], 23, id="--live: what it follows, and whom it asks"),
        pytest.param(["--cert-secret=evenkeel-tls"], 15, id="--cert-secret: what it keeps"),
        pytest.param(["--cert-dir=/tls"], 7, id="neither: only what is too much"),
    ],
)
def test_reviews(tmp_path: Path, settings: list[str], expected: int) -> None:
    """The account is asked about what the replicas' settings need."""
    cluster = a_cluster()
    for name in ("evenkeel-1", "evenkeel-2"):
        cluster.objects[f"{HOME}/pods/{name}"]["spec"]["containers"][1]["args"] = settings
    access = gathered(tmp_path, cluster).access

    assert expected == len(access.get())


def test_a_mounted_secret(tmp_path: Path) -> None:
    """Where replicas keep no Secret themselves, the one that they mount has the certificate."""
    cluster = a_cluster()
    for name in ("evenkeel-1", "evenkeel-2"):
        spec = cluster.objects[f"{HOME}/pods/{name}"]["spec"]
        spec["containers"][1]["args"] = ["serve", "--cert-dir=/tls"]
        spec["volumes"] = [{"name": "tls", "secret": {"secretName": "from-cert-manager"}}]

    assert "from-cert-manager" == gathered(tmp_path, cluster).secret


def test_credentials_that_are_not_taken(tmp_path: Path) -> None:
    """Then nothing at all can be said."""
    cluster = Cluster()
    cluster.objects["/version"] = {"status_code": 401, "kind": "Status", "message": "Unauthorized"}

    with pytest.raises(ApiError, match="Unauthorized"):
        gathered(tmp_path, cluster)


def test_errors_of_the_api_server_are_told(tmp_path: Path) -> None:
    """What breaks is skipped with the API server's words."""
    cluster = a_cluster()
    cluster.objects["/api/v1/nodes"] = {"status_code": 500, "kind": "Status", "message": "etcd is slow"}

    assert Unknown("cannot list nodes: etcd is slow") == gathered(tmp_path, cluster).places


def test_nobody_answers(tmp_path: Path) -> None:
    """There is nothing to report."""
    with serving(Cluster()) as url:
        pass

    with pytest.raises(UnreachableError):
        gather(connect(kubeconfig=write_kubeconfig(tmp_path, url)), NAMES, now=NOW, tool_version="0.1.0")
