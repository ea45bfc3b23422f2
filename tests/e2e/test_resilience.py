"""Faults in a cluster's life cost no request, and leave its cache right."""

from __future__ import annotations

import base64
import os
import signal
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.control_plane import ApiClient, ControlPlane
from tests.e2e.installation import CONFIGURATIONS, NAME, REPLICAS, SERVER_NAME, Installation
from tests.e2e.kubectl import Manifest
from tests.e2e.load import REGISTRATION, THREADS, DryRuns, Reviews, Tally, Trust, sending
from tests.e2e.objects import ZONES, constraint, deployment, pod, service
from tests.e2e.readiness import Readiness
from tests.waiting import eventually
from tests.webhook.running import review_of
from webhook.kube.watched_resources import ListedResource

#: Seconds of load before and after what happens.
SETTLED_S = 1.0
#: Seconds in which a forwarder on a busy machine passes on that a connection has ended. Arbitrary.
FORWARDED_S = 0.5
#: Pods of the storm, and threads that make them.
STORM, STORM_THREADS = 2000, 8


@dataclass(frozen=True, slots=True)
class Loads:
    """Both loads at once: through the API server, and straight to the replicas."""

    through: Tally
    straight: Tally

    @property
    def failures(self) -> dict[str, int]:
        """Requests that failed at the webhook, and those admitted without the injection that they need."""
        unmarked = Counter({"not injected": self.through.unmarked})
        return dict(+(self.through.failures + self.straight.failures + unmarked))

    @property
    def elsewhere(self) -> dict[str, int]:
        return dict(self.through.elsewhere)


@pytest.fixture
def loads(
    installed: Installation, control_plane: ControlPlane, space: str, tally: Callable[[str], Tally]
) -> Callable[[], AbstractContextManager[Loads]]:
    """Return a context that loads the replicas both ways until its block ends."""
    installed.kubectl.do("apply", "-f", "-", stdin=service("web", app="web"))
    mark = b"evenkeel.dev/injected-by"
    dry_runs = DryRuns(control_plane, f"/api/v1/namespaces/{space}/pods", pod("web"), mark=mark)
    eventually(lambda: _succeeds(dry_runs), what=lambda: "the Service is not known")

    @contextmanager
    def load() -> Iterator[Loads]:
        readiness = Readiness(installed.ports, changed=lambda port, state: None)
        trust = Trust(control_plane, REGISTRATION)
        reviews = Reviews(readiness, trust, SERVER_NAME, review_of(deployment()))
        found = Loads(tally("through the API server"), tally("straight to the replicas"))
        with ExitStack() as stack:
            for close in (dry_runs.close, reviews.close, trust.stop, readiness.stop):
                stack.callback(close)
            eventually(lambda: len(readiness.ready) >= REPLICAS)
            stack.enter_context(sending(found.through, dry_runs))
            stack.enter_context(sending(found.straight, reviews))
            time.sleep(SETTLED_S)
            yield found
            time.sleep(SETTLED_S)

    return load


def _succeeds(ask: Callable[[], None]) -> bool:
    tally = Tally("")
    tally.count(ask)
    return tally.succeeded == 1


Loading = Callable[[], AbstractContextManager[Loads]]


@pytest.mark.parametrize("options", [pytest.param((), id="certificate"), pytest.param(("--ca",), id="CA")])
def test_certificates_are_rotated(installed: Installation, loads: Loading, options: tuple[str, ...]) -> None:
    """A new certificate, also one of a new CA, is served without an untrusted connection."""
    before = _served(installed)
    with loads() as found:
        told = installed.evenkeel("certs", "rotate", "--namespace", NAME, *options)
        eventually(lambda: _served(installed).isdisjoint(before), what=lambda: told.err)

    assert 0 == told.code, told.err
    assert ({}, {}) == (found.failures, found.elsewhere)


def _served(installed: Installation) -> set[str]:
    """Return the certificates that the replicas serve."""
    return {ssl.get_server_certificate(("127.0.0.1", port)) for port in installed.replicas}


def test_bundle_that_was_overwritten(
    installed: Installation, control_plane: ControlPlane, space: str
) -> None:
    """Whoever applies the manifests again leaves the bundle alone, and one that was spoiled is mended."""
    before = _bundles(installed)
    installed.kubectl.do("apply", "-f", "-", stdin=installed.manifests)
    after = _bundles(installed)
    installed.change_webhooks(clientConfig={"caBundle": base64.b64encode(control_plane.authority).decode()})
    dry_run = ("create", "--dry-run=server", "-f", "-")
    eventually(
        lambda: installed.kubectl(*dry_run, stdin=deployment()).code == 0,
        what=lambda: "the bundle is not mended",
    )

    assert before == after


def _bundles(installed: Installation) -> list[str]:
    return [
        webhook["clientConfig"]["caBundle"]
        for kind in CONFIGURATIONS
        for webhook in installed.kubectl.get(kind, NAME)["webhooks"]
    ]


def test_worker_is_killed(installed: Installation, loads: Loading) -> None:
    """A worker that dies takes with it what it was just answering, and nothing that is asked afterwards."""
    port = next(iter(installed.replicas))
    with loads() as found:
        (worker,) = installed.workers(port)
        os.kill(worker, signal.SIGKILL)
        # A process that has ended but for one of its threads still holds its connections.
        eventually(lambda: not Path(f"/proc/{worker}").exists())
        killed_at = time.monotonic()
        eventually(lambda: installed.workers(port) not in ([], [worker]))
        installed.wait_until_chosen(port)
    late = [began - killed_at for began in found.straight.failed_at if began > killed_at]
    # The forwarder hears of the end a moment later than the kernel would tell.
    late += [began - killed_at for began in found.through.failed_at if began > killed_at + FORWARDED_S]

    assert ([], {}) == (late, found.elsewhere)
    assert 0 == found.through.unmarked
    assert found.straight.failed <= THREADS
    assert found.through.failed <= THREADS


def test_replica_is_told_to_end(installed: Installation, loads: Loading) -> None:
    """SIGTERM drains a replica: the other one takes over without a failed request."""
    port = next(iter(installed.replicas))
    with loads() as found:
        code = installed.stop(port)
    installed.start(port)
    installed.wait_until_chosen(port)

    assert 0 == code
    assert ({}, {}) == (found.failures, found.elsewhere)


def test_rolling_restart(installed: Installation, loads: Loading) -> None:
    """Replicas are replaced one after the other, each new one ready before an old one ends."""
    with loads() as found:
        codes = []
        for old in list(installed.replicas):
            new = next(port for port in installed.ports if port not in installed.replicas)
            installed.start(new)
            installed.wait_until_chosen(new)
            codes.append(installed.stop(old))

    assert [0] * REPLICAS == codes
    assert ({}, {}) == (found.failures, found.elsewhere)


def test_api_server_is_restarted(
    installed: Installation, control_plane: ControlPlane, loads: Loading, space: str
) -> None:
    """While the API server is away no review fails, and afterwards the replicas see it all."""
    with loads() as found:
        control_plane.restart_api_server()
        installed.kubectl.do("create", "-f", "-", stdin=[_bound(space, number)[1] for number in range(20)])

    assert {} == found.failures
    assert found.elsewhere
    _wait_until_right(installed, control_plane, space)


def test_pod_storm(installed: Installation, control_plane: ControlPlane, space: str) -> None:
    """Thousands of pods that come and go at once are counted exactly, in each zone, by every replica."""
    _at_once(control_plane, lambda client, number: client.call("POST", *_bound(space, number)))
    _wait_until_right(installed, control_plane, space)
    before = _matching(control_plane, space)
    _at_once(
        control_plane,
        lambda client, number: client.call("DELETE", f"{_bound(space, number)[0]}/pod-{number}?{_NOW}"),
        every=2,
    )
    _wait_until_right(installed, control_plane, space)
    after = _matching(control_plane, space)

    assert (STORM, STORM // 2) == (before.total(), after.total())


#: Pods of nodes that no kubelet runs would stay for their grace.
_NOW = "gracePeriodSeconds=0"


def _bound(space: str, number: int) -> tuple[str, Manifest]:
    """Return where a pod is made, and a pod that has its node."""
    nodes = [name for names in ZONES.values() for name in names]
    # Unevenly, so that one zone taken for another is seen.
    node = nodes[number % 7 % len(nodes)]
    return f"/api/v1/namespaces/{space}/pods", pod(f"pod-{number}", constraints=[constraint()], nodeName=node)


def _at_once(control_plane: ControlPlane, do: Callable[[ApiClient, int], object], *, every: int = 1) -> None:
    """Do something for every pod of the storm, in several threads."""

    def share(first: int) -> None:
        with control_plane.client() as client:
            for number in range(first * every, STORM, STORM_THREADS * every):
                do(client, number)

    with ThreadPoolExecutor(STORM_THREADS) as pool:
        list(pool.map(share, range(STORM_THREADS)))


def _matching(control_plane: ControlPlane, space: str) -> Counter[str]:
    """Count by zone the pods of a namespace that a node has, one by one."""
    zones = {node: zone for zone, nodes in ZONES.items() for node in nodes}
    with control_plane.client() as client:
        pods = client.call("GET", f"/api/v1/namespaces/{space}/pods")["items"]
    return Counter(zones[made["spec"]["nodeName"]] for made in pods if "nodeName" in made["spec"])


def _list_path(resource: ListedResource) -> str:
    selector = resource.field_selector
    return f"{resource.path}?fieldSelector={selector}" if selector else resource.path


def _wait_until_right(installed: Installation, control_plane: ControlPlane, space: str) -> None:
    """Wait until every replica knows what the API server has, and counts it by zone as it is."""
    asking = pod("asking", constraints=[constraint()])
    asking["metadata"]["namespace"] = space
    served = control_plane.served()

    def wrong() -> object:
        with control_plane.client() as client:
            found = {each.kind: client.call("GET", _list_path(each))["items"] for each in served}
        # A Service that selects nothing says nothing about pods.
        found["Service"] = [made for made in found["Service"] if "selector" in made["spec"]]
        expected = {kind: len(items) for kind, items in found.items()}
        counts = {zone: _matching(control_plane, space)[zone] for zone in ZONES}
        for port in installed.replicas:
            picture = installed.picture(port)
            if (actual := {kind: picture.get(kind) for kind in expected}) != expected:
                return port, expected, actual
            domains = installed.score(port, asking)["constraints"][0]["domains"]
            if (known := {domain["value"]: domain["matching"] for domain in domains}) != counts:
                return port, counts, known
        return None

    last: list[object] = []

    def right() -> bool:
        last[:] = [wrong()]
        return last == [None]

    try:
        eventually(right)
    except AssertionError:
        pytest.fail(f"replica, what there is, what it knows: {last[0]}")
