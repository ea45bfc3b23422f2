"""The report on a Secret and on those who trust it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from certs.inject import CONFIGURATION_KINDS, encode_bundle
from certs.names import Target
from certs.rotate import Demand
from tests.certs.builders import CA, NOW
from tests.webhook.cert_rotation.cluster import MUTATING, VALIDATING, a_cluster, a_configuration
from webhook.cert_rotation.cluster_objects import inspect_secret, read_configurations
from webhook.cert_rotation.reconcile import Reconciler

NO_MARGIN = timedelta(0)


def test_every_certificate_is_named_for_what_it_is() -> None:
    """Three after a change of the CA, in which every key fits and everything is trusted."""
    cluster = a_cluster()
    reconciler = Reconciler(cluster, Target(), now=lambda: NOW)
    reconciler.reconcile()
    observed, _ = reconciler.reconcile(demand=Demand.CA)
    found = inspect_secret(observed.stored, observed.configurations, now=NOW, margin=NO_MARGIN)
    source = "Secret evenkeel/evenkeel-tls"

    assert [(one["source"], one["keyFits"]) for one in found["certificates"]] == [
        (f"{source}: serving certificate", True), (f"{source}: CA", True), (f"{source}: retired CA", None),
    ]  # fmt: skip
    assert found["problems"] == []


def test_what_is_wrong() -> None:
    """A Secret's own problems, a configuration that does not exist, and bundles that are not enough."""
    cluster = a_cluster()
    reconciler = Reconciler(cluster, Target(), now=lambda: NOW)
    reconciler.reconcile()
    stored = reconciler.reconcile(demand=Demand.CA)[0].stored
    few = encode_bundle(stored.keyring.retired())
    cluster.put(MUTATING, a_configuration(CONFIGURATION_KINDS[0], bundle=few))
    other = encode_bundle([CA.certificate])
    cluster.put(VALIDATING, a_configuration(CONFIGURATION_KINDS[1], bundle=other))
    mutating, validating = read_configurations(cluster, "evenkeel")
    missing = read_configurations(cluster, "other")[:1]
    broken = replace(stored, keyring=replace(stored.keyring, problems=("it is broken",)))
    found = inspect_secret(broken, (mutating, validating, *missing), now=NOW, margin=NO_MARGIN)
    where = [
        f"{one.source}: the caBundle of 0.{one.kind.lower()}.evenkeel.dev" for one in (mutating, validating)
    ]

    assert found["problems"] == [
        "it is broken",
        f"{where[0]} lacks 1 of the 2 CAs of {stored.source}",
        f"{where[1]} does not trust the serving certificate of {stored.source}",
        "MutatingWebhookConfiguration other: does not exist, so the API server does not call its webhooks",
    ]
