"""Reconciling against an API server's objects."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from certs.errors import CertificateError
from certs.inject import CONFIGURATION_KINDS, encode_bundle
from certs.names import Target
from certs.rotate import ADOPT, SETTLE, Action, Demand, serving_problem
from tests.certs.builders import CA, NOW
from tests.webhook.cert_rotation.cluster import (
    MUTATING,
    SECRET,
    VALIDATING,
    Objects,
    a_cluster,
    a_configuration,
)
from webhook.cert_rotation.reconcile import ObservedState, Reconciler
from webhook.kube.api_server import ApiError, UnreachableError


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """Return its time."""
        return self.now


def a_reconciler(cluster: Objects, clock: Clock | None = None) -> Reconciler:
    """Return a reconciler of the tests' target."""
    return Reconciler(cluster, Target(), now=clock or Clock())


def bundles(observed: ObservedState) -> set[frozenset[object]]:
    """Return the CAs that the webhooks trust."""
    return {frozenset(bundle) for found in observed.configurations for bundle in found.trusted.values()}


def assert_in_order(observed: ObservedState) -> None:
    """Check that the Secret is whole and that every webhook trusts what it trusts."""
    keyring = observed.keyring
    assert keyring.problems == ()
    assert serving_problem(keyring.serving, Target().names(), NOW) == ""
    assert {frozenset(keyring.trusted)} == bundles(observed)


def test_from_nothing() -> None:
    """The Secret first, by one write, then both configurations; a second time nothing is written."""
    cluster = a_cluster()
    reconciler = a_reconciler(cluster)
    observed, rotation = reconciler.reconcile()
    again, _ = reconciler.reconcile()

    assert_in_order(observed)
    assert rotation.plan.action is Action.KEEP
    assert again == observed
    assert [path for _, path in cluster.writes] == [SECRET.rpartition("/")[0], MUTATING, VALIDATING]


def test_a_clock_that_is_set_meanwhile() -> None:
    """A look has one time: nothing is signed by a clock that went wrong after it was compared."""
    cluster, clock = a_cluster(), Clock()
    reconciler = a_reconciler(cluster, clock)
    observed = reconciler.observe()
    clock.now += timedelta(days=250)
    observed, _ = reconciler.reconcile(observed)

    assert_in_order(observed)
    assert observed.keyring.serving is not None
    assert not observed.keyring.serving.not_yet_valid(NOW)


def test_not_installed() -> None:
    """Without configurations the Secret is created all the same."""
    observed, rotation = a_reconciler(a_cluster(installed=False)).reconcile()

    assert (Action.KEEP, ()) == (rotation.plan.action, observed.keyring.problems)
    assert [None, None] == [found.manifest for found in observed.configurations]


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_others_write_meanwhile(writes: int) -> None:
    """The second one reads again: the first one's keys stay, and none are mixed."""
    cluster = a_cluster()
    other, reconciler = a_reconciler(cluster), a_reconciler(cluster)
    for _ in range(writes - 1):
        reconciler.reconcile()
        cluster.objects.pop(SECRET)
    cluster.before_write = other.reconcile
    observed, _ = reconciler.reconcile()
    theirs, _ = other.reconcile()

    assert_in_order(observed)
    assert observed.keyring == theirs.keyring


def test_a_conflict_at_every_attempt() -> None:
    """A process that is always second gives up and says so."""
    cluster = a_cluster()
    reconciler = a_reconciler(cluster)
    reconciler.reconcile()

    def overwrite() -> None:
        cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0]))
        cluster.before_write = overwrite

    overwrite()
    with pytest.raises(ApiError) as caught:
        reconciler.reconcile()

    assert caught.value.conflict


def test_an_overwritten_bundle_is_restored() -> None:
    """A bundle that others put into a configuration is replaced; the keys stay."""
    cluster = a_cluster()
    reconciler = a_reconciler(cluster)
    before, _ = reconciler.reconcile()
    bundle = encode_bundle([CA.certificate])
    cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0], bundle=bundle))
    observed, _ = reconciler.reconcile()

    assert_in_order(observed)
    assert before.keyring == observed.keyring


def test_only_the_secret() -> None:
    """At the start of a replica nothing is published."""
    observed, _ = a_reconciler(a_cluster()).reconcile(publishing=False)

    assert observed.keyring.problems == ()
    assert {frozenset()} == bundles(observed)


def test_a_deleted_secret() -> None:
    """The CA that signed what replicas serve stays trusted, and the new certificate waits for no one."""
    cluster = a_cluster()
    reconciler = a_reconciler(cluster)
    before, _ = reconciler.reconcile()
    cluster.objects.pop(SECRET)
    observed, _ = reconciler.reconcile()

    assert_in_order(observed)
    assert before.keyring.trusted == observed.keyring.retired()


def test_a_demand_waits_for_publication() -> None:
    """A certificate comes when its CA has been published for ten seconds, and comes once."""
    cluster, clock = a_cluster(), Clock()
    reconciler = a_reconciler(cluster, clock)
    reconciler.reconcile()
    early = reconciler.reconcile(demand=Demand.SERVING)[1]
    clock.now += SETTLE
    done = reconciler.reconcile(demand=Demand.SERVING)[1]

    assert (Action.WAIT, Demand.SERVING) == (early.plan.action, early.demand)
    assert ([Action.ISSUE], Demand.NOTHING) == ([plan.action for plan in done.done], done.demand)
    assert reconciler.reconcile()[1].done == ()


def test_a_demand_is_not_repeated() -> None:
    """Where a configuration changes after the Secret was written, only the bundle is published again."""
    cluster, clock = a_cluster(), Clock()
    reconciler = a_reconciler(cluster, clock)
    reconciler.reconcile()
    clock.now += ADOPT

    def disturb() -> None:
        changed = a_configuration(CONFIGURATION_KINDS[0])
        cluster.before_write = lambda: cluster.put(MUTATING, changed)

    cluster.before_write = disturb
    observed, rotation = reconciler.reconcile(demand=Demand.CA)

    assert_in_order(observed)
    assert [Action.REPLACE_CA] == [plan.action for plan in rotation.done]
    assert [("PUT", SECRET)] == [write for write in cluster.writes if write[0] == "PUT"]


def test_no_answer() -> None:
    """It is raised, and what was seen before is not forgotten."""
    cluster, clock = a_cluster(), Clock()
    reconciler = a_reconciler(cluster, clock)
    reconciler.reconcile()
    cluster.down = True
    with pytest.raises(UnreachableError):
        reconciler.observe()
    cluster.down = False
    clock.now += timedelta(seconds=10)

    assert reconciler.reconcile(demand=Demand.SERVING)[1].done


def test_bad_names() -> None:
    """A Service that cannot exist is refused before anything is sent."""
    with pytest.raises(CertificateError):
        Reconciler(Objects(), Target(service="Web!"), now=Clock())
