"""Rotation because a person demands it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from certs.inspect import signer_of
from certs.names import Target
from certs.rotate import Demand
from tests.certs.builders import NOW
from tests.webhook.cert_rotation.cluster import SECRET, Objects, a_cluster
from webhook.cert_rotation.reconcile import (
    ClockError,
    ObservedState,
    Reconciler,
    require_secret,
    rotate_on_demand,
)
from webhook.kube.api_server import ClusterError


class Terminal:
    """A clock that sleeping moves, and what a person reads."""

    def __init__(self, cluster: Objects) -> None:
        self.now = NOW
        self.lines: list[str] = []
        self.reconciler = Reconciler(cluster, Target(), now=self._time)

    def _time(self) -> datetime:
        return self.now

    def _sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def rotate(self, demand: Demand, *, timeout_s: float = 100) -> ObservedState:
        """Rotate as the command does."""
        return rotate_on_demand(
            self.reconciler, demand, timeout_s=timeout_s, sleep=self._sleep, report=self.lines.append
        )


def test_a_serving_certificate() -> None:
    """It waits until its CA is trusted, which a new process cannot know at once."""
    terminal = Terminal(a_cluster())
    old = terminal.reconciler.reconcile()[0].keyring
    new = terminal.rotate(Demand.SERVING).keyring

    assert (old.ca, old.trusted) == (new.ca, new.trusted)
    assert old.serving != new.serving
    assert timedelta(seconds=10) == terminal.now - NOW
    assert terminal.lines == [
        "waiting until every API server trusts the CA; it can take a minute",
        "issued a new serving certificate",
    ]


@pytest.mark.parametrize("hours", [pytest.param(2, id="2 h ahead"), pytest.param(-2, id="2 h behind")])
@pytest.mark.parametrize("demand", [Demand.SERVING, Demand.CA])
def test_a_wrong_clock(demand: Demand, hours: int) -> None:
    """A person's machine issues nothing whose dates the API server would not believe."""
    cluster = a_cluster()
    terminal = Terminal(cluster)
    before = terminal.reconciler.reconcile()[0].keyring
    cluster.clock = lambda: terminal.now - timedelta(hours=hours)

    with pytest.raises(ClockError, match="2 hours"):
        terminal.rotate(demand)
    assert (before, []) == (terminal.reconciler.observe().keyring, terminal.lines)


def test_a_ca_twice() -> None:
    """The second time waits for replicas to follow the first, and drops the oldest CA."""
    terminal = Terminal(a_cluster())
    first = terminal.reconciler.reconcile()[0].keyring
    second = terminal.rotate(Demand.CA).keyring
    between = terminal.now
    third = terminal.rotate(Demand.CA).keyring

    assert first.ca
    assert second.ca
    assert second.serving
    assert terminal.lines[:3] == [
        "created a new CA",
        "waiting until every API server trusts the CA; it can take a minute",
        "issued a new serving certificate",
    ]
    assert (first.ca.certificate,) == second.retired()
    assert second.ca.certificate == signer_of(second.serving, second.trusted)
    assert (second.ca.certificate,) == third.retired()
    assert timedelta(seconds=70) == terminal.now - between


def test_from_nothing() -> None:
    """Without a Secret everything is created, whatever is demanded."""
    cluster = a_cluster()
    terminal = Terminal(cluster)
    observed = terminal.rotate(Demand.CA)

    assert SECRET in cluster.objects
    assert terminal.lines == [
        "created a new CA",
        "issued a new serving certificate",
    ]
    assert observed.keyring.problems == ()


def test_not_in_time() -> None:
    """It says what it has waited for."""
    terminal = Terminal(a_cluster())
    terminal.reconciler.reconcile()

    with pytest.raises(ClusterError, match="timed out after 5 s, waiting until every API server trusts"):
        terminal.rotate(Demand.CA, timeout_s=5)


def test_a_secret_that_does_not_exist() -> None:
    """A mistyped name is reported, and a Secret that exists is enough, whatever it holds."""
    cluster = a_cluster()
    terminal = Terminal(cluster)
    with pytest.raises(ClusterError, match="Secret evenkeel/evenkeel-tls does not exist"):
        require_secret(terminal.reconciler)
    before = set(cluster.objects)
    cluster.put(SECRET, {"type": "Opaque"})
    require_secret(terminal.reconciler)

    assert SECRET not in before
