"""Rounds of looking and mending against an API server's objects."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from certs.errors import NamesError
from certs.inject import CONFIGURATION_KINDS, encode_bundle
from certs.rotate import Demand, Step, serving_problem
from tests.certs.builders import AUTHORITY, NOW
from tests.webhook.cert_rotation.cluster import (
    MUTATING,
    SECRET,
    VALIDATING,
    Objects,
    a_cluster,
    a_configuration,
)
from webhook.cert_rotation.configurations import published_bundles
from webhook.cert_rotation.reconcile import ObservedState, Reconciler, Target
from webhook.kube.api_server import ApiError, UnreachableError

PLACE = Target(namespace="evenkeel")


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """Return its time."""
        return self.now


def a_rotation(cluster: Objects, clock: Clock | None = None) -> Reconciler:
    """Return a rotation of the tests' place."""
    return Reconciler(cluster, PLACE, now=clock or Clock())


def assert_in_order(view: ObservedState) -> None:
    """Check that the Secret is whole and that every webhook trusts what it trusts."""
    keyring = view.keyring
    assert keyring.problems == ()
    assert serving_problem(keyring.serving, PLACE.names(), NOW) == ""
    assert {frozenset(keyring.trusted)} == set(published_bundles(view.configurations))


def test_from_nothing() -> None:
    """The Secret first, then both configurations; a second round writes nothing."""
    cluster = a_cluster()
    rotation = a_rotation(cluster)
    view, plan = rotation.reconcile()
    again, _ = rotation.reconcile()

    assert_in_order(view)
    assert plan.step is Step.KEEP
    assert again == view
    assert [path for _, path in cluster.writes] == [SECRET.rpartition("/")[0], MUTATING, VALIDATING]


def test_not_installed() -> None:
    """Without configurations the Secret is made all the same, and who is missing is told."""
    cluster = a_cluster(installed=False)
    view, plan = a_rotation(cluster).reconcile()

    assert (Step.KEEP, ()) == (plan.step, view.keyring.problems)
    assert tuple(f"{kind} evenkeel" for kind in CONFIGURATION_KINDS) == view.missing()


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_others_write_meanwhile(writes: int) -> None:
    """Whoever is second looks again: the first one's keys stay, and nobody's are mixed."""
    cluster = a_cluster()
    other = a_rotation(cluster)
    rotation = a_rotation(cluster)
    for _ in range(writes - 1):
        rotation.reconcile()
        cluster.objects.pop(SECRET)
    cluster.before_write = other.reconcile
    view, _ = rotation.reconcile()
    theirs, _ = other.reconcile()

    assert_in_order(view)
    assert view.keyring == theirs.keyring


def test_a_conflict_at_every_attempt() -> None:
    """Who is always second gives up and says so."""
    cluster = a_cluster()
    rotation = a_rotation(cluster)
    rotation.reconcile()

    def overwrite() -> None:
        cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0]))
        cluster.before_write = overwrite

    overwrite()
    with pytest.raises(ApiError) as caught:
        rotation.reconcile()

    assert caught.value.conflict


def test_an_overwritten_bundle_is_put_back() -> None:
    """What a configuration had before, and others trust by it, stays trusted."""
    cluster = a_cluster()
    rotation = a_rotation(cluster)
    before, _ = rotation.reconcile()
    bundle = encode_bundle([AUTHORITY.certificate()])
    cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0], bundle=bundle))
    view, _ = rotation.reconcile()

    assert_in_order(view)
    assert (*before.keyring.trusted, AUTHORITY.certificate()) == view.keyring.trusted
    assert before.keyring.serving == view.keyring.serving


def test_only_the_secret() -> None:
    """At the start of a replica nothing is published."""
    cluster = a_cluster()
    view, _ = a_rotation(cluster).reconcile(publishing=False)

    assert view.keyring.problems == ()
    assert {frozenset()} == set(published_bundles(view.configurations))


def test_a_spare_certificate() -> None:
    """A deleted Secret gets the certificate that is served, and another when the new authority is trusted."""
    cluster, clock = a_cluster(), Clock()
    rotation = a_rotation(cluster, clock)
    served = rotation.reconcile()[0].keyring.serving
    cluster.objects.pop(SECRET)
    remade, waiting = rotation.reconcile(spare=served)
    clock.now += timedelta(seconds=10)
    later, plan = rotation.reconcile(spare=served)

    assert served == remade.keyring.serving
    assert (Step.WAIT, Step.KEEP) == (waiting.step, plan.step)
    assert later.keyring.serving not in {None, served}
    assert_in_order(later)


@pytest.mark.parametrize(
    ("demand", "step"),
    [(Demand.LEAF, Step.ISSUE), (Demand.AUTHORITY, Step.SWITCH)],
    ids=["leaf", "authority"],
)
def test_demands_wait_for_publication(demand: Demand, step: Step) -> None:
    """What is asked for comes when its signer has been published for ten seconds, and comes once."""
    cluster, clock = a_cluster(), Clock()
    rotation = a_rotation(cluster, clock)
    rotation.reconcile()
    early = rotation.reconcile(demand=demand)[1].step
    clock.now += timedelta(seconds=10)
    done = rotation.reconcile(demand=demand)[1].step

    assert (Step.WAIT, step) == (early, done)
    assert rotation.reconcile()[1].step is Step.KEEP


def test_nobody_answers() -> None:
    """It is raised, and what was seen before is not forgotten."""
    cluster, clock = a_cluster(), Clock()
    rotation = a_rotation(cluster, clock)
    rotation.reconcile()
    cluster.down = True
    with pytest.raises(UnreachableError):
        rotation.look()
    cluster.down = False
    clock.now += timedelta(seconds=10)

    assert rotation.reconcile(demand=Demand.LEAF)[1].step is Step.ISSUE


def test_bad_names() -> None:
    """A Service that cannot exist is refused before anything is sent."""
    with pytest.raises(NamesError):
        Reconciler(Objects(), Target(namespace="evenkeel", service="Web!"), now=Clock())
