"""Reviews that outrun the events of a followed cluster: they wait, and nobody else does."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import a_pod, a_policy, a_replica_set, a_workload
from tests.policies.config.contexts import defaults
from tests.waiting import eventually
from tests.webhook.kube.api_server import FakeApiServer
from tests.webhook.kube.api_server import serving as api_server
from tests.webhook.loopback import write_kubeconfig
from tests.webhook.running import Server, ask, review_of, serving

pytestmark = pytest.mark.slow

#: Pods whose ReplicaSet's event comes late, and how many reviews of them are asked at once.
PODS, AT_ONCE = 300, 60
#: Seconds that the event comes after the review was sent.
DELAY_S = 0.3
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}
OPT_OUT = {"evenkeel.dev/inject": "false"}


def a_namespace(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def a_set(revision: str, **metadata: Any) -> dict[str, Any]:
    return a_replica_set(a_workload(), revision, **metadata)


def review(revision: str, namespace: str = "shop") -> bytes:
    """Return a review of the first pod of a ReplicaSet."""
    labels = {"app": "web", "pod-template-hash": revision}
    body = json.loads(review_of(a_pod(labels=labels, owner=("apps/v1", "ReplicaSet", f"web-{revision}"))))
    body["request"]["namespace"] = namespace
    return json.dumps(body).encode()


def asked(server: Server, body: bytes) -> dict[str, Any]:
    answer = server.ask("POST", "/mutate?timeout=10s", body=body, content_type="application/json")
    return answer.json()["response"]  # type: ignore[no-any-return]


def selected(response: dict[str, Any]) -> list[dict[str, str]]:
    """Return the labels that the injected constraints select by."""
    patch = json.loads(base64.b64decode(response.get("patch", "W10=")))
    given = [operation["value"] for operation in patch if isinstance(operation["value"], list)]
    return [constraint["labelSelector"]["matchLabels"] for entry in given for constraint in entry]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeApiServer]:
    with api_server(FakeApiServer()) as state:
        for obj in (a_namespace("shop"), SERVICE):
            state.put(obj)
        yield state


@pytest.fixture(scope="module")
def server(cluster: FakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("postponed")
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump(a_policy(defaults=defaults())))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KUBECONFIG", str(write_kubeconfig(folder, cluster.url)))
        options = ("--live", "--defaults=policy", f"--policy={policy}", "--access=open", "--threads=2")
        with serving(folder, *options) as running:
            eventually(lambda: running.ask("GET", "/readyz").status == 200)
            yield running


def test_no_first_pod_is_missed(server: Server, cluster: FakeApiServer) -> None:
    """Every pod is injected by its ReplicaSet, whose event comes later than the pod's review."""
    bodies = [(f"r{number}", review(f"r{number}")) for number in range(PODS)]

    def in_turn(start: int) -> list[tuple[str, dict[str, Any]]]:
        connection, found = server.connect(), []
        for revision, body in bodies[start::AT_ONCE]:
            timer = threading.Timer(DELAY_S, cluster.put, [a_set(revision)])
            timer.start()
            answer = ask(
                connection, "POST", "/mutate?timeout=10s", body=body, content_type="application/json"
            )
            found.append((revision, answer.json()["response"]))
            timer.join()
        connection.close()
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = [entry for found in pool.map(in_turn, range(AT_ONCE)) for entry in found]

    assert PODS == len(answers)
    assert [] == [
        (revision, response)
        for revision, response in answers
        if [{"app": "web", "pod-template-hash": revision}] * 2 != selected(response)
    ]
    metrics = server.ask("GET", "/metrics").body.decode()
    # On a slow machine some events come first.
    assert re.search(r'^evenkeel_cache_waits_total\{result="found"\} [1-9]', metrics, re.MULTILINE)


@pytest.mark.parametrize(
    ("revision", "namespace", "late"),
    [
        pytest.param("opted", "shop", a_set("opted", annotations=OPT_OUT), id="an opted-out Deployment"),
        pytest.param(
            "other", "sandbox", a_namespace("sandbox", annotations=OPT_OUT), id="an opted-out namespace"
        ),
    ],
)
def test_nobody_is_injected_who_opted_out(
    server: Server, cluster: FakeApiServer, revision: str, namespace: str, late: dict[str, Any]
) -> None:
    """An opt-out that is in the cluster but not in the cache yet holds, though a Service selects the pod."""
    timer = threading.Timer(DELAY_S, cluster.put, [late])
    timer.start()
    response = asked(server, review(revision, namespace))
    timer.join()

    assert [] == selected(response)
    assert "an annotation opts out" == response["auditAnnotations"]["injection-skipped"]


def test_others_are_answered_meanwhile(server: Server, cluster: FakeApiServer) -> None:
    """More reviews wait than there are threads, and the next one is answered before any of them."""
    cluster.put(a_set("known"))
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(asked, server, review("late")) for _ in range(8)]
        known = asked(server, review("known"))
        before = [found.done() for found in waiting]
        cluster.put(a_set("late"))
        after = [selected(found.result()) for found in waiting]

    assert {"app": "web", "pod-template-hash": "known"} in selected(known)
    assert [False] * 8 == before
    assert [[{"app": "web", "pod-template-hash": "late"}] * 2] * 8 == after


def test_what_never_comes_is_told(server: Server) -> None:
    """After a while the pod passes as it is, and the audit log and the server's own say why."""
    response = asked(server, review("never"))

    assert response["allowed"]
    assert [] == selected(response)
    assert (
        "ReplicaSet shop/web-never is not in the cache of the cluster yet"
        == response["auditAnnotations"]["injection-skipped"]
    )
    eventually(lambda: any(" cluster=not-cached " in line for line in server.lines("review_allowed")))
    assert "evenkeel_cache_misses_total 1.0\n" in server.ask("GET", "/metrics").body.decode()


def test_a_client_that_leaves_while_it_waits_is_no_error(server: Server, cluster: FakeApiServer) -> None:
    """Its answer goes nowhere, and the next review is answered."""
    body = review("left")
    head = (
        "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with server.tls() as sock:
        sock.sendall(head.encode() + body)
    cluster.put(a_set("left"))

    assert {"app": "web", "pod-template-hash": "left"} in selected(asked(server, review("left")))
    assert [] == server.lines("internal_error")
