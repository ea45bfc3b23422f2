"""One user stores and sends what takes long to judge, and the requests of another are answered as ever."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http import HTTPStatus

import pytest

from tests.e2e.control_plane import ApiClient, ControlPlane
from tests.e2e.installation import REPLICAS, SERVER_NAME, Installation
from tests.e2e.kubectl import Manifest
from tests.e2e.load import REGISTRATION, Reviews, Tally, Trust, sending
from tests.e2e.objects import HOSTNAME_KEY, constraint, deployment, namespace, node, pod
from tests.e2e.readiness import Readiness
from tests.waiting import eventually
from tests.webhook.running import review_of

#: A part of the cluster that is full: nodes, pods on each, and budgets that protect them.
NODES, PODS_A_NODE, BUDGETS = 60, 16, 500
#: Pods with terms, and the terms of each: every one selects every pod of everybody.
WITH_TERMS, TERMS = 32, 500
#: Terms of an object that is sent, which are compared with the labels of all pods of all namespaces.
SENT_TERMS = 100
#: Clients of the one user, which wait for nothing but their answers, and requests a second of the other.
CLIENTS, RATE = 4, 50
#: Seconds of load.
ORDINARY_S, DEAR_S = 8.0, 20.0
#: The chart's timeout of a webhook.
TIMEOUT_S = 3
#: Seconds in which 99 of 100 requests of the other user are answered on a machine that nobody else uses, and
#: how many times as long as beside clients that send what is ordinary: others use the machine of a test.
P99_S, TIMES = 0.1, 8
#: Objects that must be denied, sent one after the other meanwhile.
FORBIDDEN = 20
_DRY_RUN = "dryRun=All"
_MERGE = "application/merge-patch+json"
_POOL = {"pool": "full"}


class Neighbors:
    """Two users, each with a namespace of their own and the rights to edit it."""

    def __init__(self, control_plane: ControlPlane, installed: Installation, space: str) -> None:
        self._control_plane, self._installed = control_plane, installed
        self.dear, self.other = space, f"{space}-other"
        made: list[Manifest] = [namespace(self.other)]
        rights = "rbac.authorization.k8s.io"
        for name in (self.dear, self.other):
            metadata = {"name": "user", "namespace": name}
            role: Manifest = {"apiVersion": f"{rights}/v1", "kind": "Role", "metadata": metadata}
            rule = {"apiGroups": ["", "apps", "policy"], "resources": ["*"], "verbs": ["*"]}
            reference = {"apiGroup": rights, "kind": "Role", "name": "user"}
            subject = {"kind": "ServiceAccount", **metadata}
            made += [
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
                role | {"rules": [rule]},
                role | {"kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
            ]
        control_plane.kubectl.do("apply", "-f", "-", stdin=made)
        self._tokens = {name: installed.token("user", namespace=name) for name in (self.dear, self.other)}

    @contextmanager
    def client(self, name: str) -> Iterator[ApiClient]:
        with self._control_plane.client(self._tokens[name]) as client:
            yield client

    def at_once(self, do: Callable[[ApiClient, int], object], count: int) -> None:
        """Let the dear user do something as many times, in several threads."""

        def share(first: int) -> None:
            with self.client(self.dear) as client:
                for number in range(first, count, CLIENTS):
                    do(client, number)

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(share, range(CLIENTS)))

    @contextmanager
    def busy(self, sent: Callable[[ApiClient, int], tuple[int, bytes]]) -> Iterator[list[int]]:
        """Let all clients of the dear user send without a pause until the block ends; yield the statuses."""
        stopped, statuses = threading.Event(), list[int]()
        numbers = itertools.count()

        def work() -> None:
            with self.client(self.dear) as client:
                while not stopped.is_set():
                    statuses.append(sent(client, next(numbers))[0])

        threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield statuses
        finally:
            stopped.set()
            for thread in threads:
                thread.join()


@pytest.fixture
def neighbors(control_plane: ControlPlane, installed: Installation, space: str) -> Iterator[Neighbors]:
    """The two users, and a full part of the cluster; the webhooks fail open, as those of the chart."""
    made = Neighbors(control_plane, installed, space)
    names = [f"full-{number}" for number in range(NODES)]
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 10}
    control_plane.kubectl.do("create", "-f", "-", stdin=priority | {"metadata": {"name": space}})
    try:
        with control_plane.client() as client:
            for name in names:
                _add_node(client, name)
        with installed.unregistered():
            made.at_once(lambda client, number: _fill(client, space, number), NODES * PODS_A_NODE)
            made.at_once(lambda client, number: _protect(client, space, number), BUDGETS)
        with installed.failing("Ignore"):
            installed.change_webhooks(timeoutSeconds=TIMEOUT_S)
            yield made
            installed.change_webhooks(timeoutSeconds=10)
    finally:
        with control_plane.client() as client:
            client.call("DELETE", f"/api/v1/namespaces/{space}/pods?gracePeriodSeconds=0")
            for name in names:
                client.send("DELETE", f"/api/v1/nodes/{name}")
            client.send("DELETE", f"/api/v1/namespaces/{made.other}")
            client.send("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{space}")


def _add_node(client: ApiClient, name: str) -> None:
    made = node(name, "zone-a")
    made["metadata"]["labels"] |= _POOL
    made["status"]["allocatable"] = made["status"]["capacity"] = {
        "cpu": "16",
        "memory": "64Gi",
        "pods": "110",
    }
    client.call("POST", "/api/v1/nodes", made)
    client.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": made["status"]}, content_type=_MERGE)
    client.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, content_type=_MERGE)


def _fill(client: ApiClient, space: str, number: int) -> None:
    """Put a pod on a node, with labels that no other has, as a StatefulSet's."""
    made = pod(f"pod-{number}", nodeName=f"full-{number % NODES}")
    made["metadata"]["labels"] |= {"number": str(number), "workload": f"w{number % PODS_A_NODE}"}
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    client.call("POST", f"/api/v1/namespaces/{space}/pods", made)


def _protect(client: ApiClient, space: str, number: int) -> None:
    selector = {"matchLabels": {"workload": f"w{number % PODS_A_NODE}"}}
    made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": f"b-{number}"}}
    spec = {"maxUnavailable": 0, "selector": selector}
    client.call("POST", f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets", made | {"spec": spec})


def _with_terms(client: ApiClient, space: str, number: int) -> None:
    """Store a pod whose terms each select all pods but those with a label that none has."""
    terms = [
        {
            "labelSelector": {
                "matchExpressions": [{"key": f"k{number * TERMS + n}", "operator": "NotIn", "values": ["x"]}]
            },
            "topologyKey": HOSTNAME_KEY,
            "namespaceSelector": {},
        }
        for n in range(TERMS)
    ]
    made = pod(f"terms-{number}", app="terms", nodeName=f"full-{number}", affinity=_anti_affinity(terms))
    client.call("POST", f"/api/v1/namespaces/{space}/pods", made)


def _anti_affinity(terms: list[Manifest]) -> Manifest:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _dear(space: str) -> Callable[[ApiClient, int], tuple[int, bytes]]:
    """Return what sends, one after the other, each request that is dear by what the cluster stores."""
    important = deployment("important")
    important["spec"]["template"]["spec"] |= {"priorityClassName": space, "nodeSelector": _POOL}
    important["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    terms = [
        {
            "labelSelector": {"matchLabels": {"app": f"q{n}"}},
            "topologyKey": HOSTNAME_KEY,
            "namespaceSelector": {},
        }
        for n in range(SENT_TERMS)
    ]
    everywhere = deployment("everywhere")
    everywhere["spec"]["template"]["spec"]["affinity"] = _anti_affinity(terms)
    bodies = [json.dumps(each).encode() for each in (important, everywhere)]
    deployments = f"/apis/apps/v1/namespaces/{space}/deployments?{_DRY_RUN}"

    def sent(client: ApiClient, number: int) -> tuple[int, bytes]:
        if number % 8 == 0:
            # An event of a pod with terms, in every replica.
            path = f"/api/v1/namespaces/{space}/pods/terms-{number // 8 % WITH_TERMS}"
            patch = {"metadata": {"annotations": {"number": str(number)}}}
            return client.send("PATCH", path, patch, content_type=_MERGE)
        return client.send("POST", deployments, bodies[number % len(bodies)])

    return sent


def _ordinary(space: str) -> Callable[[ApiClient, int], tuple[int, bytes]]:
    body = json.dumps(deployment()).encode()
    return lambda client, _: client.send(
        "POST", f"/apis/apps/v1/namespaces/{space}/deployments?{_DRY_RUN}", body
    )


def _failed_open(control_plane: ControlPlane) -> float:
    """Return how often the API server admitted an object without an answer."""
    text = control_plane.kubectl.do("get", "--raw", "/metrics")
    found = re.findall(r"^apiserver_admission_webhook_fail_open_count\{[^}]*\} (\S+)", text, re.MULTILINE)
    return sum(map(float, found))


@pytest.mark.kubernetes(since="1.21")
def test_what_one_user_stores_and_sends(
    installed: Installation,
    control_plane: ControlPlane,
    neighbors: Neighbors,
    tally: Callable[[str], Tally],
) -> None:
    """Another user's requests are answered in time, and what must be denied is denied."""
    forbidden = deployment("forbidden", constraints=[constraint(matchLabelKeys=["app"])])
    path = f"/apis/apps/v1/namespaces/{neighbors.other}/deployments"
    usual, beside = tally("beside ordinary requests"), tally("beside what takes long")
    stored, failed_open = [], _failed_open(control_plane)
    with ExitStack() as stack:
        readiness = Readiness(installed.ports, changed=lambda port, state: None)
        trust = Trust(control_plane, REGISTRATION)
        reviews = Reviews(readiness, trust, SERVER_NAME, review_of(deployment()), timeout_s=TIMEOUT_S)
        for close in (reviews.close, trust.stop, readiness.stop):
            stack.callback(close)
        eventually(lambda: len(readiness.ready) >= REPLICAS)
        with neighbors.busy(_ordinary(neighbors.dear)) as ordinary, sending(usual, reviews, rate=RATE):
            time.sleep(ORDINARY_S)
        neighbors.at_once(lambda client, number: _with_terms(client, neighbors.dear, number), WITH_TERMS)
        with (
            neighbors.client(neighbors.other) as client,
            neighbors.busy(_dear(neighbors.dear)) as dear,
            sending(beside, reviews, rate=RATE),
        ):
            for _ in range(FORBIDDEN):
                stored.append(client.send("POST", path, forbidden)[0] == HTTPStatus.CREATED)
                time.sleep(DEAR_S / FORBIDDEN)
    failed_open = _failed_open(control_plane) - failed_open

    # The clients were there at all.
    assert {HTTPStatus.CREATED} == set(ordinary)
    assert {HTTPStatus.OK, HTTPStatus.CREATED} == set(dear)
    assert ({}, {}) == (usual.failures, beside.failures)
    assert [False] * FORBIDDEN == stored
    assert 0 == failed_open
    assert beside.slowest_s < TIMEOUT_S
    assert beside.within_s(0.99) <= max(P99_S, TIMES * usual.within_s(0.99)), f"{usual}; {beside}"
    assert installed.health(installed.ports[0])[0] == HTTPStatus.OK
