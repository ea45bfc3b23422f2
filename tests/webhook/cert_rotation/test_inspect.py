"""What is told about a Secret and who trusts it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from certs.inject import CONFIGURATION_KINDS, encode_bundle
from certs.inspect import examine
from certs.rotate import Demand
from tests.certs.builders import AUTHORITY, NOW
from tests.webhook.cert_rotation.cluster import MUTATING, VALIDATING, a_cluster, a_configuration
from webhook.cert_rotation.configurations import read_configurations
from webhook.cert_rotation.inspect import materials, trust_problems
from webhook.cert_rotation.reconcile import Reconciler, Target


def test_every_certificate_is_named_for_what_it_is() -> None:
    """Four groups after a switch, in which every key fits and everything is trusted."""
    cluster, times = a_cluster(), [NOW]
    rotation = Reconciler(cluster, Target(namespace="evenkeel"), now=lambda: times[-1])
    rotation.reconcile()
    times.append(NOW + timedelta(seconds=10))
    view, _ = rotation.reconcile(demand=Demand.AUTHORITY)
    report = examine(materials(view.keyring, "S"), view.keyring.bundle(NOW), now=times[-1])

    assert [description.source for description in report.certificates] == [
        "S: serving certificate", "S: active authority", "S: standby authority", "S: retired authority",
    ]  # fmt: skip
    assert [description.key_fits for description in report.certificates] == [True, True, True, None]
    assert report.problems == ()
    assert list(trust_problems(view.keyring, "S", view.configurations, NOW)) == []


def test_what_is_wrong() -> None:
    """A Secret's own problems, a configuration that is not there, and bundles that are not enough."""
    cluster = a_cluster()
    keyring = Reconciler(cluster, Target(namespace="evenkeel"), now=lambda: NOW).reconcile()[0].keyring
    assert keyring.active is not None
    few = encode_bundle([keyring.active.certificate()])
    other = encode_bundle([AUTHORITY.certificate()])
    cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0], bundle=few))
    cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1], bundle=other))
    found = read_configurations(cluster, "evenkeel")
    missing = read_configurations(cluster, "other")[:1]
    lacking = "its caBundle lacks 1 of the 2 authorities"
    untrusted = "its caBundle does not trust the serving certificate"
    broken = replace(keyring, problems=("S: is broken",))

    assert list(trust_problems(broken, "S", (*found, *missing), NOW)) == [
        "S: is broken",
        f"{found[0].source}, 0.{found[0].kind.lower()}.evenkeel.dev: {lacking} of S",
        f"{found[1].source}, 0.{found[1].kind.lower()}.evenkeel.dev: {untrusted} of S",
        "MutatingWebhookConfiguration other: does not exist, so nobody calls its webhooks",
    ]
