"""Reconciler because somebody asks for it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from certs.rotate import Demand, signer_of
from tests.certs.builders import NOW
from tests.webhook.cert_rotation.cluster import SECRET, Objects, a_cluster
from webhook.cert_rotation.manual import ClockError, NoSecretError, NotInTimeError, require_secret, rotate
from webhook.cert_rotation.reconcile import ObservedState, Reconciler, Target


class Terminal:
    """A clock that waiting moves, and what a person reads."""

    def __init__(self, cluster: Objects) -> None:
        self.now = NOW
        self.lines: list[str] = []
        self.rotation = Reconciler(cluster, Target(namespace="evenkeel"), now=self._time)

    def _time(self) -> datetime:
        return self.now

    def _wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def rotate(self, demand: Demand, *, patience_s: float = 100) -> ObservedState:
        """Rotate as the command does."""
        return rotate(self.rotation, demand, patience_s=patience_s, wait=self._wait, tell=self.lines.append)


def test_a_leaf() -> None:
    """It waits until its signer is trusted, which a new process cannot know at once."""
    terminal = Terminal(a_cluster())
    old = terminal.rotation.reconcile()[0].keyring
    new = terminal.rotate(Demand.LEAF).keyring

    assert (old.active, old.trusted) == (new.active, new.trusted)
    assert old.serving != new.serving
    assert timedelta(seconds=10) == terminal.now - NOW
    assert terminal.lines == [
        "waiting until every API server trusts the active authority; it can take a minute",
        "issued a new serving certificate",
    ]  # fmt: skip


@pytest.mark.parametrize("hours", [pytest.param(2, id="2 h ahead"), pytest.param(-2, id="2 h behind")])
@pytest.mark.parametrize("demand", [Demand.LEAF, Demand.AUTHORITY])
def test_a_wrong_clock(demand: Demand, hours: int) -> None:
    """A person's machine issues nothing whose dates the API server would not believe."""
    cluster = a_cluster()
    terminal = Terminal(cluster)
    before = terminal.rotation.reconcile()[0].keyring
    cluster.clock = lambda: terminal.now - timedelta(hours=hours)

    with pytest.raises(ClockError, match="2 hours"):
        terminal.rotate(demand)
    assert (before, []) == (terminal.rotation.look().keyring, terminal.lines)


def test_an_authority_twice() -> None:
    """The second time waits for replicas to follow the first, and forgets the oldest."""
    terminal = Terminal(a_cluster())
    first = terminal.rotation.reconcile()[0].keyring
    second = terminal.rotate(Demand.AUTHORITY).keyring
    between = terminal.now
    third = terminal.rotate(Demand.AUTHORITY).keyring

    assert first.standby == second.active
    assert second.standby == third.active
    assert first.active is not None
    assert first.active.certificate() in second.trusted
    assert first.active.certificate() not in third.trusted
    assert timedelta(seconds=60) == terminal.now - between
    assert third.serving is not None
    assert signer_of(third.serving, second.trusted) is not None


def test_from_nothing() -> None:
    """Without a Secret everything is made, for whatever was asked."""
    cluster = a_cluster()
    terminal = Terminal(cluster)
    view = terminal.rotate(Demand.AUTHORITY)

    assert SECRET in cluster.objects
    assert terminal.lines == ["made two new authorities and a serving certificate"]
    assert view.keyring.problems == ()


def test_not_in_time() -> None:
    """It says what it has waited for."""
    terminal = Terminal(a_cluster())
    terminal.rotation.reconcile()

    with pytest.raises(NotInTimeError, match="after 5 s: waited until every API server trusts the standby"):
        terminal.rotate(Demand.AUTHORITY, patience_s=5)


def test_a_secret_that_is_not_there() -> None:
    """A mistyped name is told, and one that is there is enough, whatever it holds."""
    cluster = a_cluster()
    terminal = Terminal(cluster)
    with pytest.raises(NoSecretError, match="Secret evenkeel/evenkeel-tls is not there"):
        require_secret(terminal.rotation)
    before = set(cluster.objects)
    cluster.put(SECRET, {"type": "Opaque"})
    require_secret(terminal.rotation)

    assert SECRET not in before
