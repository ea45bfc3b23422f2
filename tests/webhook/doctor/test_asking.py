"""Replicas asked over the API server's proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.webhook.doctor.installation import GAUGES, NAMES, Cluster, a_cluster, a_replica, ours, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.doctor.asking import ask_replica, ask_through_service, read_metrics
from webhook.doctor.facts import Known, Unknown, Voice
from webhook.kube.client import connect
from webhook.telemetry import Telemetry

PROXY = "/api/v1/namespaces/evenkeel/pods/https:evenkeel-1:8443/proxy"
TOKEN = "/api/v1/namespaces/evenkeel/serviceaccounts/evenkeel-client/token"
STATUS = {"kind": "Status", "message": "dial tcp 10.0.0.1:8443: i/o timeout"}


def asked(folder: Path, cluster: Cluster) -> Voice:
    with serving(cluster) as url:
        return ask_replica(connect(kubeconfig=write_kubeconfig(folder, url)), NAMES, a_replica("evenkeel-1"))


def changed(**pages: Any) -> Cluster:
    """Return a cluster whose first replica answers otherwise; None for a page that is not there."""
    cluster = a_cluster()
    for page, answer in pages.items():
        cluster.objects[f"{PROXY}/{page.replace('_', '.')}"] = answer
    return cluster


def test_a_replica_that_tells_everything(tmp_path: Path) -> None:
    """Its metrics hold its release, too, and nobody needs a token for them here."""
    cluster = a_cluster()

    assert Voice(reasons=Known(()), version=Known("0.1.0"), metrics=Known(GAUGES)) == asked(tmp_path, cluster)
    assert [f"GET {PROXY}/readyz", f"GET {PROXY}/metrics"] == cluster.asked


@pytest.mark.parametrize(
    ("answer", "expected", "unreachable"),
    [
        pytest.param(
            {"status_code": 503, "status": "not ready", "reasons": ["a", "b"]},
            Known(("a", "b")),
            "",
            id="503: its own",
        ),
        pytest.param(
            {"status_code": 503, **STATUS},
            Unknown("evenkeel-1 cannot be asked: dial tcp 10.0.0.1:8443: i/o timeout"),
            STATUS["message"],
            id="503: the API server cannot reach it",
        ),
        pytest.param(
            {"status_code": 502, "page": "bad gateway"},
            Unknown("evenkeel-1 cannot be asked: bad gateway"),
            "bad gateway",
            id="502: a proxy's",
        ),
        pytest.param(
            {"status_code": 404, "page": "nothing here"},
            Unknown("evenkeel-1 cannot be asked: nothing here"),
            "",
            id="404: something else answers",
        ),
    ],
)
def test_readiness(
    tmp_path: Path, answer: dict[str, Any], expected: Known[tuple[str, ...]] | Unknown, unreachable: str
) -> None:
    """A replica's own words and those of the API server are told apart."""
    voice = asked(tmp_path, changed(readyz=answer))

    assert (expected, unreachable) == (voice.reasons, voice.unreachable)


def test_no_answer_at_all(tmp_path: Path) -> None:
    """What keeps the API server from an answer keeps the rest of it from being asked."""
    cluster = changed(readyz={"silent": True})
    voice = asked(tmp_path, cluster)

    assert Unknown("evenkeel-1 cannot be reached") == voice.reasons
    assert "http://127.0.0.1:" in voice.unreachable
    assert [f"GET {PROXY}/readyz"] == cluster.asked


def test_a_page_that_breaks_off(tmp_path: Path) -> None:
    """Only that page is lacking."""
    voice = asked(tmp_path, changed(metrics={"silent": True}, openapi_json={"info": {"version": "0.1.0"}}))

    assert Unknown("evenkeel-1 does not tell its metrics: no answer") == voice.metrics
    assert Known("0.1.0") == voice.version


def test_a_caller_who_may_not_ask(tmp_path: Path) -> None:
    """Nothing is known, and it is nobody's fault."""
    cluster = a_cluster()
    cluster.forbidden = lambda _method, path: "/proxy/" in path
    voice = asked(tmp_path, cluster)
    why = Unknown("may not get pods/proxy in evenkeel, to ask the replicas")

    assert Voice(reasons=why, version=why, metrics=why) == voice


def test_a_replica_that_asks_who_calls(tmp_path: Path) -> None:
    """A token for it is made, and goes in the header that the API server passes on."""
    cluster = changed(
        metrics={"status_code": 401, "error": "who are you?"}, openapi_json={"info": {"version": "0.1"}}
    )
    cluster.objects[TOKEN] = {"status": {"token": "a-short-one"}}
    voice = asked(tmp_path, cluster)

    assert f"POST {TOKEN}" in cluster.asked
    assert ["Bearer a-short-one"] == [
        headers["X-Evenkeel-Authorization"]
        for headers in cluster.headers
        if "X-Evenkeel-Authorization" in headers
    ]
    assert Unknown("evenkeel-1 does not tell its metrics: who are you?") == voice.metrics
    assert Known("0.1") == voice.version


def test_a_caller_who_may_make_no_token(tmp_path: Path) -> None:
    """It is said what is lacking."""
    cluster = changed(metrics={"status_code": 401, "error": "who are you?"})
    cluster.forbidden = lambda method, _path: method == "POST"
    voice = asked(tmp_path, cluster)
    why = "may not create serviceaccounts/token of evenkeel-client, to read the replicas' metrics"

    assert (Unknown(why), Unknown("evenkeel-1 does not tell its release")) == (voice.metrics, voice.version)


def test_a_token_that_does_not_come(tmp_path: Path) -> None:
    """Only the metrics are lacking."""
    cluster = changed(metrics={"status_code": 401, "error": "who are you?"})
    cluster.objects[TOKEN] = {"silent": True}
    voice = asked(tmp_path, cluster)

    assert isinstance(voice.metrics, Unknown)
    assert Known(()) == voice.reasons


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param({"status": "ok"}, Known(""), id="a replica that is ready"),
        pytest.param(
            {"status_code": 503, "status": "not ready", "reasons": ["x"]}, Known(""), id="not ready"
        ),
        pytest.param({"status_code": 503, **STATUS}, Known(STATUS["message"]), id="the API server's words"),
        pytest.param(
            {"status_code": 404, "page": "nothing here"}, Known("nothing here"), id="another server"
        ),
    ],
)
def test_through_the_service(tmp_path: Path, answer: dict[str, Any], said: Known[str]) -> None:
    """A replica answers, whatever it says; anything else is repeated."""
    cluster = a_cluster()
    home = "/api/v1/namespaces/evenkeel"
    cluster.objects[f"{home}/services/https:evenkeel:443/proxy/readyz"] = answer
    service = Known(cluster.objects[f"{home}/services/evenkeel"])
    with serving(cluster) as url:
        api = connect(kubeconfig=write_kubeconfig(tmp_path, url))
        through = ask_through_service(api, NAMES, service, ours())
        other = ask_through_service(api, NAMES, service, ours(port=9))

    assert said == through
    assert Unknown("the Service has no port 9") == other


def test_no_service_account_for_people(tmp_path: Path) -> None:
    """An installation by hand may lack it."""
    voice = asked(tmp_path, changed(metrics={"status_code": 403, "page": "no"}))

    assert Unknown(f"{TOKEN} not found") == voice.metrics


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param({"info": {"version": "0.2.0"}}, Known("0.2.0"), id="said"),
        pytest.param({"page": "[]"}, Unknown("evenkeel-1 does not tell its release"), id="no document"),
        pytest.param({"info": 1}, Unknown("evenkeel-1 does not tell its release"), id="no release"),
    ],
)
def test_release(tmp_path: Path, answer: dict[str, Any], expected: Known[str] | Unknown) -> None:
    """Where metrics do not hold it, the description of the routes does."""
    cluster = changed(metrics={"page": "a 1\n"}, openapi_json=answer)

    assert expected == asked(tmp_path, cluster).version


def test_metrics_have_the_names_that_replicas_give_them() -> None:
    """What is looked for is what a server tells."""
    telemetry = Telemetry("0.1.0", registry=CollectorRegistry())
    telemetry.certificate_loaded(0.0, 1.0)
    telemetry.cluster_followed([], age_s=2.0, stale=False)
    metrics, release = read_metrics(telemetry.render().decode())

    assert "0.1.0" == release
    assert GAUGES.keys() <= metrics.keys()
