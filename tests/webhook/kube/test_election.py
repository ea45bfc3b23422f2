"""Elections by Lease, with the client's own code against an API server over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kubernetes.leaderelection.leaderelection import LeaderElection

from tests.waiting import PATIENCE_S, eventually
from tests.webhook.cert_rotation.cluster import LEASE, Objects, serving
from tests.webhook.loopback import write_kubeconfig
from webhook.kube import election
from webhook.kube.client import connect


class Candidate:
    """Counts how often it began and ended to lead."""

    def __init__(self) -> None:
        self.started = 0
        self.stopped = 0

    @property
    def leads(self) -> bool:
        """Whether it leads now."""
        return self.started > self.stopped

    def begin(self) -> None:
        """Count a beginning."""
        self.started += 1

    def end(self) -> None:
        """Count an end."""
        self.stopped += 1


Stand = Callable[[str], tuple[Candidate, Callable[[], None]]]


@contextmanager
def candidates(cluster: Objects, folder: Path) -> Iterator[Stand]:
    """Return a function that makes candidates, who all resign at the end."""
    resigns: list[Callable[[], None]] = []
    with serving(cluster) as url:
        api = connect(kubeconfig=write_kubeconfig(folder, url))
        api.namespace = "evenkeel"

        def stand(identity: str) -> tuple[Candidate, Callable[[], None]]:
            candidate = Candidate()
            resign = election.lead(api, "evenkeel", candidate.begin, candidate.end, identity=identity)
            resigns.append(resign)
            return candidate, resign

        try:
            yield stand
        finally:
            cluster.down = False
            for resign in resigns:
                resign()
    for thread in threading.enumerate():
        if thread.name == "election":
            thread.join(PATIENCE_S)


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody lose a Lease for a busy machine, and ask for it every second: the client takes no less."""
    monkeypatch.setattr(election, "_LEASE_S", 900)
    monkeypatch.setattr(election, "_RENEW_S", 600)
    monkeypatch.setattr(election, "_RETRY_S", 1)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, lasting: None) -> None:
    """Let a Lease last seconds instead of a quarter of a minute; on a busy machine it may be lost, too."""
    monkeypatch.setattr(election, "_LEASE_S", 3)
    monkeypatch.setattr(election, "_RENEW_S", 2)


def holder(cluster: Objects) -> str:
    """Return the holder of the Lease."""
    return str(cluster.objects[LEASE]["spec"]["holderIdentity"])


@pytest.mark.usefixtures("lasting")
def test_one_leads_and_gives_back(tmp_path: Path) -> None:
    """Of two one leads; when it resigns, the other does at once."""
    cluster = Objects()
    with candidates(cluster, tmp_path) as stand:
        first, resign = stand("first")
        eventually(lambda: first.leads)
        second, _ = stand("second")
        before = holder(cluster)
        resign()
        given_back = (first.leads, holder(cluster) == "first")
        eventually(lambda: second.leads)

        assert ("first", (False, False)) == (before, given_back)
        assert (1, 1) == (first.started, first.stopped)
        assert holder(cluster) == "second"


@pytest.mark.usefixtures("quick")
def test_an_outage(tmp_path: Path) -> None:
    """Nobody leads who cannot renew, and somebody does again afterwards."""
    cluster = Objects()
    with candidates(cluster, tmp_path) as stand:
        candidate, _ = stand("first")
        eventually(lambda: candidate.leads)
        cluster.down = True
        eventually(lambda: not candidate.leads)
        ended = candidate.stopped
        cluster.down = False
        eventually(lambda: candidate.leads)

        assert candidate.started > ended > 0


@pytest.mark.usefixtures("lasting")
def test_a_lease_that_holds_rubbish(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is told, the thread lives on, and a Lease that is mended is taken."""
    cluster = Objects()
    cluster.put(LEASE, {"metadata": {"name": "evenkeel"}, "spec": {"renewTime": "yesterday"}})
    with candidates(cluster, tmp_path) as stand:
        candidate, _ = stand("first")
        eventually(lambda: "election_failed" in caplog.messages)
        cluster.put(LEASE, {"metadata": {"name": "evenkeel"}, "spec": {}})

        assert eventually(lambda: candidate.leads)


def test_a_lease_that_is_forbidden(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The client takes it for a Lease that somebody holds; the log says once what is missing."""
    cluster = Objects()
    cluster.forbidden.add(LEASE)
    with candidates(cluster, tmp_path) as stand:
        candidate, _ = stand("first")
        eventually(lambda: caplog.records)
        cluster.forbidden.clear()
        eventually(lambda: candidate.leads)

    (record,) = caplog.records
    assert ("election_failed", f"{LEASE} is forbidden") == (
        record.getMessage(),
        record.fields["error"],  # type: ignore[attr-defined]
    )


@pytest.mark.usefixtures("lasting")
def test_resigning_before_the_lease_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who resigns while the Lease is being taken does not begin to lead, and takes it no more."""
    taking, resigned = threading.Event(), threading.Event()
    step: Callable[[LeaderElection], bool] = LeaderElection.try_acquire_or_renew

    def late(self: LeaderElection) -> bool:
        held = step(self)
        taking.set()
        resigned.wait(PATIENCE_S)
        return bool(held and step(self) is not None)

    monkeypatch.setattr(LeaderElection, "try_acquire_or_renew", late)
    cluster = Objects()
    with candidates(cluster, tmp_path) as stand:
        candidate, resign = stand("first")
        assert taking.wait(PATIENCE_S)
        resign()
        resigned.set()

    assert (0, 0) == (candidate.started, candidate.stopped)
    assert "" == holder(cluster)


@pytest.mark.usefixtures("lasting")
def test_resigning_while_nobody_answers(tmp_path: Path) -> None:
    """The end does not wait for an API server that is away."""
    cluster = Objects()
    with candidates(cluster, tmp_path) as stand:
        candidate, resign = stand("first")
        eventually(lambda: candidate.leads)
        cluster.down = True
        resign()

        assert (candidate.leads, holder(cluster)) == (False, "first")
